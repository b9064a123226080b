//! Finds or builds the library of C functions, on the standard library alone. In this order:
//!
//! 1. `UFORM_LIB_DIR` names a folder with `libuform.so` or `libuform.a`, by an absolute path: link that.
//! 2. `UFORM_SYSTEM=1`: ask `pkg-config` for an installed one.
//! 3. Otherwise compile `c/uform.cpp` with `$CXX` (`c++`) and `$CXXFLAGS`, and link it statically.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

fn main() {
    for name in ["UFORM_LIB_DIR", "UFORM_SYSTEM", "CXX", "CXXFLAGS", "AR", "PKG_CONFIG", "PKG_CONFIG_PATH", "DOCS_RS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return; // documents need no library
    }
    if let Some(folder) = env::var_os("UFORM_LIB_DIR") {
        link_folder(Path::new(&folder));
    } else if env::var_os("UFORM_SYSTEM").is_some_and(|value| value != "0" && !value.is_empty()) {
        link_installed();
    } else {
        build();
    }
}

/// Links what lies in a folder; the shared library where both do.
fn link_folder(folder: &Path) {
    if folder.is_relative() {
        // This runs in the package's own folder, the linker in the workspace's, and the program anywhere.
        fail(&[format!(
            "UFORM_LIB_DIR is {folder:?}, and has to be an absolute path: cargo would look for it in {}, not where it \
             was called",
            variable("CARGO_MANIFEST_DIR")
        )]);
    }
    let (shared, archive) = (folder.join("libuform.so"), folder.join("libuform.a"));
    println!("cargo::rerun-if-changed={}", shared.display());
    println!("cargo::rerun-if-changed={}", archive.display());
    println!("cargo::rustc-link-search=native={}", folder.display());
    if shared.exists() {
        println!("cargo::rustc-link-lib=dylib=uform");
        // Cargo hands this to the package's own tests and examples; a dependant sets its own, or LD_LIBRARY_PATH.
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
    } else if archive.exists() {
        println!("cargo::rustc-link-lib=static=uform");
        link_standard_library();
    } else {
        fail(&[format!(
            "UFORM_LIB_DIR is {}, and neither {} nor {} is there",
            folder.display(),
            shared.display(),
            archive.display()
        )]);
    }
}

/// Links what `pkg-config` finds.
fn link_installed() {
    let tool = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    for flag in run(Command::new(tool).args(["--libs", "uform"])).split_whitespace() {
        match flag.split_at(flag.len().min(2)) {
            ("-L", folder) => println!("cargo::rustc-link-search=native={folder}"),
            ("-l", name) => println!("cargo::rustc-link-lib=dylib={name}"),
            _ => println!("cargo::rustc-link-arg={flag}"),
        }
    }
}

/// Compiles the library into an archive, and links that.
fn build() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let (source, headers) = (root.join("c"), root.join("include"));
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed={}", headers.display());
    if !source.join("uform.cpp").exists() {
        fail(&[format!(
            "{} isn't there: set UFORM_LIB_DIR to a built library's folder",
            source.join("uform.cpp").display()
        )]);
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    let (object, archive) = (out.join("uform.o"), out.join("libuform.a"));

    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".into());
    let mut words = compiler.split_whitespace(); // "ccache g++" is a common value
    let mut compile = Command::new(words.next().unwrap_or("c++"));
    // Optimised in every profile: the kernels are a hundred times slower without.
    compile.args(words).args(["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-c"]);
    compile.arg("-I").arg(&headers).arg("-I").arg(&source);
    compile.args(env::var("CXXFLAGS").unwrap_or_default().split_whitespace());
    run(compile.arg(source.join("uform.cpp")).arg("-o").arg(&object));
    let _ = fs::remove_file(&archive); // `ar` adds to an archive that is there
    run(Command::new(env::var("AR").unwrap_or_else(|_| "ar".into())).arg("rcs").arg(&archive).arg(&object));

    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=uform");
    link_standard_library();
}

fn link_standard_library() {
    println!("cargo::rustc-link-lib=dylib=stdc++");
    println!("cargo::rustc-link-lib=dylib=pthread");
    println!("cargo::rustc-link-lib=dylib=dl");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&[format!("cargo hasn't set {name}")]))
}

fn run(command: &mut Command) -> String {
    let said = match command.output() {
        Ok(output) if output.status.success() => return String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let mut lines = vec![format!("this failed: {command:?}")];
    lines.extend(said.lines().take(40).map(String::from));
    fail(&lines)
}

/// Says it in cargo's way, without the backtrace of a panic.
fn fail(lines: &[String]) -> ! {
    for line in lines {
        println!("cargo::error={line}");
    }
    exit(1)
}
