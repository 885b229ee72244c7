//! What a signal is called in Verilog.

/// The words of Verilog 2005, and those of SystemVerilog, as which some tools read every file; and `vector`, for which Verilator has
/// another name in its C++.
const KEYWORDS: &str = "
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins binsof bit break
    buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const constraint context continue cover
    covergroup coverpoint cross deassign default defparam design disable dist do edge else end endcase endchecker endclass endclocking
    endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram endproperty endspecify
    endsequence endtable endtask enum event eventually expect export extends extern final first_match for force foreach forever fork
    forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir
    include initial inout input inside instance int integer interconnect interface intersect join join_any join_none large let liblist
    library local localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
    noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program property
    protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real
    realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime
    s_until s_until_with scalared sequence shortint shortreal showcancelled signed small soft solve specify specparam static string
    strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
    timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
    until_with untyped use uwire var vector vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor
    xnor xor";

/// The text with each of its words replaced that `other` has another word for. A word may have `$` in it, as RustHDL's names do.
pub fn with_other_words(text: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| is_of_word(letter) != is_of_word(first)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        match other(word) {
            Some(other) => renamed += &other,
            None => renamed += word,
        }
        rest = behind;
    }
    renamed
}

/// Whether the word is a keyword of Verilog, so that no signal can have it as its name.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.split_whitespace().any(|word| word == name)
}

/// The Verilog name of what is called `name` in the tree.
pub fn identifier(name: &str) -> String {
    name.replace('$', "_")
}

/// What the tree calls the signal with this path, in which `$` stands between the fields of interfaces: the data of a stream have the
/// stream's own name, unless that is a keyword of Verilog.
pub fn short(path: &str) -> &str {
    path.strip_suffix("$data").filter(|stream| !is_keyword(&identifier(stream))).unwrap_or(path)
}

/// Whether a stream has such a field. An interface that has others too is none: its data are called `tlp_rx_data`.
pub fn is_of_stream(field: &str) -> bool {
    ["valid", "ready", "data"].contains(&field)
}

/// What a port is called for which RustHDL's own writer has `name`, one of `all` that its block has: `access_valid` for `access$valid`,
/// `access` for `access$data`.
pub fn port(name: &str, all: &[&str]) -> String {
    let Some((interface, _)) = name.rsplit_once('$') else { return name.to_owned() };
    let field = |other: &&&str| other.strip_prefix(interface)?.strip_prefix('$').map(str::to_owned);
    let is_stream = all.iter().filter_map(|other| field(&other)).all(|field| is_of_stream(&field));
    identifier(if is_stream { short(name) } else { name })
}
