//! What a hostile user was told of an honest one.

use viaduct_driver::address::ConnectionInfo;

/// What a spy has told the hostile ones of an honest one: all there is to know.
#[derive(Debug, Clone, Copy)]
pub struct Told {
    /// Where memory of its begins.
    pub address: u64,
    /// The handle of that.
    pub handle: u32,
    /// A VI of its.
    pub vi: ConnectionInfo,
}

impl Told {
    /// As one argument of a program.
    ///
    /// # Panics
    /// It always can be said.
    pub fn to_text(self) -> String {
        format!("{} {} {}", self.address, self.handle, serde_json::to_string(&self.vi).expect("JSON"))
    }

    /// What [`Told::to_text`] has made.
    ///
    /// # Panics
    /// It is something else.
    pub fn of_text(text: &str) -> Self {
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().expect("three");
        Self {
            address: word().parse().expect("a number"),
            handle: word().parse().expect("a number"),
            vi: serde_json::from_str(word()).expect("an end's"),
        }
    }
}
