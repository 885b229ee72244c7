//! vipl.h under every compiler and standard that programs use, in both naming traditions, against facts and against the crate
//! that owns the layouts.

use std::{fmt::Write, fs, path::Path, process::Command};

use via::Return;
use viaduct_spec::{
    descriptor::{
        address_segment, control, control_segment, data_segment, status, ALIGNMENT, CONTROL_SEGMENT_BYTES,
        SEGMENT_BYTES,
    },
    layout::{Codes, Field},
    register::event_code,
};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const C: [&str; 4] = ["gnu89", "c99", "c11", "gnu17"];
const CXX: [&str; 5] = ["c++98", "c++11", "c++14", "c++17", "c++20"];
/// What programs define before they include it.
const DIALECTS: [&[&str]; 6] = [
    &[],
    &["-DVIPL095"],
    &["-DCONTROL_DATA"],
    &["-DCONTROL_DATA", "-DVIPL095"],
    &["-DGIGANET", "-DCONTROL_DATA"],
    &["-DIN=", "-DOUT="],
];

/// The compilers of this machine: programs, and whether they take C++.
fn compilers() -> Vec<(&'static str, bool)> {
    let all = [("gcc", false), ("g++", true), ("clang", false), ("clang++", true)];
    let version = |name: &str| {
        let output =
            Command::new(name).arg("--version").output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
    };
    let there = all.into_iter().filter(|(name, _)| {
        let version = version(name);
        println!("{name}: {}", version.as_deref().unwrap_or("not installed"));
        version.is_some()
    });
    there.collect()
}

/// Compiles without output; what the compiler said if it refused.
fn compile(compiler: &str, cxx: bool, standard: &str, more: &[&str], file: &Path) -> Result<(), String> {
    let language = if cxx { "c++" } else { "c" };
    let output = Command::new(compiler)
        .args([
            "-x",
            language,
            &format!("-std={standard}"),
            "-pedantic-errors",
            "-Wall",
            "-Wextra",
            "-Werror",
        ])
        .args(["-Wno-unused-local-typedefs", "-fsyntax-only", "-I", &format!("{FOLDER}/../include")])
        .args(more)
        .arg(file)
        .output()
        .expect("it was there a moment ago");
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{compiler} -std={standard} {more:?}:\n{}", String::from_utf8_lossy(&output.stderr)))
}

fn field(text: &mut String, kind: &str, path: &str, field: Field) {
    let name = format!("{kind}_{}", path.replace(['[', ']', '.'], "_"));
    assert!(field.lo % 8 == 0 && field.width % 8 == 0, "{}", field.name);
    let (offset, bytes) = (field.lo / 8, field.width / 8);
    writeln!(text, "CHECK(spec_{name}_at, offsetof({kind}, {path}) == {offset});").expect("a string");
    writeln!(text, "CHECK(spec_{name}_of, sizeof((({kind} *)0)->{path}) == {bytes});").expect("a string");
}

fn codes(text: &mut String, prefix: &str, codes: &Codes, less: u64) {
    for code in codes.codes {
        let value = code.value - less;
        writeln!(text, "CHECK(spec_{prefix}{0}, {prefix}{0} == {value}u);", code.name).expect("a string");
    }
}

/// The layouts and codes of the specification, as statements about the header.
fn spec() -> String {
    let mut text = String::new();
    for (name, bytes) in
        [("VIP_CONTROL_SEGMENT", CONTROL_SEGMENT_BYTES), ("VIP_DESCRIPTOR_SEGMENT", SEGMENT_BYTES)]
    {
        writeln!(text, "CHECK(spec_{name}, sizeof({name}) == {bytes});").expect("a string");
    }
    writeln!(text, "CHECK(spec_alignment, VIP_DESCRIPTOR_ALIGNMENT == {ALIGNMENT});").expect("a string");
    // In the order of the layouts: each field of theirs has a name here.
    let control_names =
        ["Next", "NextHandle", "SegCount", "Control", "Reserved", "ImmediateData", "Length", "Status"];
    let layouts = [
        ("VIP_CONTROL_SEGMENT", control_segment::LAYOUT, &control_names[..]),
        ("VIP_DATA_SEGMENT", data_segment::LAYOUT, &["Data", "Handle", "Length"]),
        ("VIP_ADDRESS_SEGMENT", address_segment::LAYOUT, &["Data", "Handle", "Reserved"]),
    ];
    for (kind, layout, names) in layouts {
        assert_eq!(layout.fields.len(), names.len(), "{kind}");
        for (path, of) in names.iter().zip(layout.fields) {
            field(&mut text, kind, path, *of);
        }
    }
    codes(&mut text, "VIP_CONTROL_", &control::CODES, 0);
    codes(&mut text, "VIP_STATUS_", &status::CODES, 0);
    // Events are VIA's codes plus 1; the last one is the NIC's own.
    let (own, vias) = event_code::CODES.codes.split_last().expect("there are events");
    assert_eq!(own.name, "CQ_OVERRUN");
    codes(&mut text, "VIP_ERROR_", &Codes { codes: vias, ..event_code::CODES }, 1);
    let returns = [
        ("SUCCESS", Return::Success),
        ("NOT_DONE", Return::NotDone),
        ("INVALID_PARAMETER", Return::InvalidParameter),
        ("ERROR_RESOURCE", Return::ErrorResource),
        ("TIMEOUT", Return::Timeout),
        ("REJECT", Return::Reject),
        ("INVALID_RELIABILITY_LEVEL", Return::InvalidReliabilityLevel),
        ("INVALID_MTU", Return::InvalidMtu),
        ("INVALID_QOS", Return::InvalidQos),
        ("INVALID_PTAG", Return::InvalidPtag),
        ("INVALID_RDMAREAD", Return::InvalidRdmaRead),
        ("DESCRIPTOR_ERROR", Return::DescriptorError),
        ("INVALID_STATE", Return::InvalidState),
        ("ERROR_NAMESERVICE", Return::ErrorNameservice),
        ("NO_MATCH", Return::NoMatch),
        ("NOT_REACHABLE", Return::NotReachable),
        ("ERROR_NOT_SUPPORTED", Return::ErrorNotSupported),
    ];
    for (name, code) in returns {
        writeln!(text, "CHECK(spec_VIP_{name}, VIP_{name} == {});", code as u32).expect("a string");
    }
    text
}

#[test]
fn the_header_is_what_programs_know_under_every_compiler_and_standard() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec_file = folder.path().join("spec.h");
    fs::write(&spec_file, spec()).expect("written");
    let spec_flag = format!("-DSPEC=\"{}\"", spec_file.display());
    let file = Path::new(FOLDER).join("tests/c/header.c");
    let compilers = compilers();
    assert!(!compilers.is_empty(), "no C compiler");
    for (compiler, cxx) in compilers {
        let standards = if cxx { &CXX[..] } else { &C[..] };
        for standard in standards {
            for dialect in DIALECTS {
                let more: Vec<&str> = dialect.iter().copied().chain([spec_flag.as_str()]).collect();
                compile(compiler, cxx, standard, &more, &file).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

#[test]
fn each_enumerator_is_a_macro_too() {
    let header = fs::read_to_string(format!("{FOLDER}/../include/vipl.h")).expect("it is there");
    let bodies = header.split("typedef enum").skip(1).map(|text| {
        text.split_once('{').and_then(|(_, text)| text.split_once('}')).expect("an enumeration's body").0
    });
    let names: Vec<&str> = bodies
        .flat_map(str::lines)
        .map(|line| line.trim().split([' ', ',']).next().unwrap_or_default())
        .filter(|word| word.starts_with("VIP_"))
        .collect();
    assert!(names.len() > 30 && names.contains(&"VIP_ERROR_NOT_SUPPORTED"), "{names:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("asks.c");
    let mut text = String::from("#include <vipl.h>\n");
    for name in &names {
        // As programs ask; and it is a constant of C's as before.
        writeln!(text, "#ifndef {name}\n#error {name} is no macro\n#endif").expect("a string");
        writeln!(text, "enum {{ ours_{name} = {name} }};").expect("a string");
    }
    fs::write(&file, text).expect("written");
    for (compiler, cxx) in compilers() {
        let standard = if cxx { "c++98" } else { "gnu89" };
        compile(compiler, cxx, standard, &[], &file).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_checks_can_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = Path::new(FOLDER).join("tests/c/header.c");
    let wrong = folder.path().join("wrong.h");
    for line in [
        "CHECK(wrong, VIP_STATUS_DONE == 2);",
        "CHECK(wrong, offsetof(VIP_CONTROL_SEGMENT, Status) == 24);",
        "VIP_RETURN VipOpenNic(VIP_CHAR *, VIP_NIC_HANDLE *);",
    ] {
        fs::write(&wrong, format!("{line}\n")).expect("written");
        for (compiler, cxx) in compilers() {
            // In C++ another type is another function.
            if cxx && line.starts_with("VIP_RETURN") {
                continue;
            }
            let flag = format!("-DSPEC=\"{}\"", wrong.display());
            let standard = if cxx { "c++98" } else { "c99" };
            assert!(compile(compiler, cxx, standard, &[&flag], &file).is_err(), "{compiler}: {line}");
        }
    }
}
