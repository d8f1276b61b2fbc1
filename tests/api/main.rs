//! The library's interface: what works, and that every mistake is an error that names the object.

mod capture;
mod copies;
mod drawing;
mod languages;
mod mistakes;
mod submissions;
mod support;
