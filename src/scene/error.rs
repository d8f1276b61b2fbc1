//! What can go wrong between a path on the command line and a [`Scene`](super::Scene): one variant per cause, each naming
//! the file and, where there is one, the object inside it.

use std::path::{Path, PathBuf};

/// Why a model or an environment could not be loaded. All of these are the input's fault or a limit, never a bug here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The file system refused.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Neither GLB nor glTF, or a broken GLB.
    #[error("{}: {problem}", path.display())]
    Container {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The JSON does not parse, or lacks what glTF demands.
    #[error("{}: {problem}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        problem: String,
    },
    /// An object inside the file is malformed.
    #[error("{}: {object}: {problem}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Which object, in glTF's terms (`accessors[3]`).
        object: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The file cannot be shown rightly without an extension that this renderer lacks.
    #[error("{}: needs the extension {extension}, which is not supported here (supported: {supported})", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
        /// The extension's name.
        extension: String,
        /// Names of those that are.
        supported: String,
    },
    /// An environment map is not a usable `.hdr` or `.exr`.
    #[error("{}: {problem}", path.display())]
    Environment {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// No camera has this name or index.
    #[error("no camera {wanted}; {available}")]
    NoCamera {
        /// As the user wrote it.
        wanted: String,
        /// A sentence listing those there are.
        available: String,
    },
}

/// A problem with one object, before the file's name is put to it.
#[derive(Debug)]
pub(super) struct Fault {
    pub object: String,
    pub problem: String,
}

impl Fault {
    pub fn new(object: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            object: object.into(),
            problem: problem.into(),
        }
    }

    pub fn at(self, path: &Path) -> SceneError {
        SceneError::Object {
            path: path.to_owned(),
            object: self.object,
            problem: self.problem,
        }
    }
}
