//! The WGSL of the tree: the shaders beside this file, and those of the jobs in the workspace's `tests/jobs`.

use std::path::Path;

/// Name and text of each, in a fixed order; a job's `main.wgsl` goes by the job's name.
pub fn all() -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("the folder exists");
        let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        paths
    };
    let mut files = list(&here.join("tests/shaders"));
    for job in list(&here.join("../tests/jobs")) {
        files.extend(list(&job));
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "wgsl"));
    let each = files.into_iter().map(|file| {
        let named = match file.parent() {
            Some(job) if file.ends_with("main.wgsl") => job.with_extension("wgsl"),
            _ => file.clone(),
        };
        let name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&file).expect("a shader is text"))
    });
    each.collect()
}
