//! A JSON object of named things, in the order of the file. A name given twice is an error.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Things by name, in file order.
#[derive(Clone, Debug)]
pub struct Named<T> {
    items: Vec<(String, T)>,
    index: BTreeMap<String, usize>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named {
            items: Vec::new(),
            index: BTreeMap::new(),
        }
    }
}

impl<T> Named<T> {
    /// The thing of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.index.get(name).and_then(|&i| self.items.get(i)).map(|(_, t)| t)
    }

    /// All names and things, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.items.iter().map(|(name, t)| (name.as_str(), t))
    }

    /// Adds a thing, unless there is one of that name.
    pub fn insert(&mut self, name: String, thing: T) -> Result<(), String> {
        if self.index.contains_key(&name) {
            return Err(name);
        }
        self.index.insert(name.clone(), self.items.len());
        self.items.push((name, thing));
        Ok(())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of named descriptions")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut all = Named::default();
                while let Some(name) = map.next_key::<String>()? {
                    let thing = map.next_value()?;
                    all.insert(name, thing)
                        .map_err(|name| A::Error::custom(format!("the name `{name}` is given twice")))?;
                }
                Ok(all)
            }
        }

        from.deserialize_map(Entries(PhantomData))
    }
}
