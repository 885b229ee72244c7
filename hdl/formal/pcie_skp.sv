// Lane with SkpDue: from one SKP set's COM to the next one's, or from electrical idle to the first, there are at most 1538 symbols, with the
// longest packet or any other set under way when it falls due, whatever is ordered meanwhile.
//
// Here a step is a word of two symbols. Mutants are sought from reset on, which a count of 608 makes long: for them the interval is 12 words
// and the longest packet 6, and nothing else is changed.
//
// watch: mode = dut.mode
// watch: kind = dut.kind
// watch: place = dut.place
// watch: passed = dut.skp.passed
// watch: interval_ends = dut.skp.ends
// watch: owed = dut.skp.owed
module proof(
    input wire clock, input wire reset, input wire line_valid, input wire [18:0] line, input wire [16:0] order, input wire no_scramble
);
    localparam [9:0] INTERVAL = 10'd608;
    localparam [9:0] LONGEST = 10'd140;
    localparam [9:0] LIMIT = 10'd769;
    wire line_ready, began, began_tag, settled;
    wire [21:0] word;
    top dut(
        .clock(clock), .reset(reset), .line_valid(line_valid), .line_ready(line_ready), .line(line), .order(order),
        .no_scramble(no_scramble), .word(word), .began(began), .began_tag(began_tag), .settled(settled)
    );
    (* keep *) wire [1:0] mode, kind;
    (* keep *) wire [2:0] place, owed;
    (* keep *) wire [9:0] passed;
    (* keep *) wire interval_ends;

    reg [9:0] moved = 0;
    always @(posedge clock) begin
        if (line_valid && line_ready) moved <= line[18] ? 10'd0 : moved + 10'd1;
        if (reset) moved <= 0;
    end
    function legal(input first, input [18:0] text);
        legal = first ? text[17:16] == 1 && !text[18] && (text[7:0] == 8'hfb || text[7:0] == 8'h5c)
            : text[18] ? text[17:16] == 2 && text[15:8] == 8'hfd : text[17:16] == 0;
    endfunction
    always @(*) begin
        // from: pcie_frame.framed
        if (line_valid) framed: assume(legal(moved == 0, line));
        // from: pcie_frame.gapless
        if (moved != 0) gapless: assume(line_valid);
        // from: pcie_frame.longest
        if (line_valid) longest: assume(moved < LONGEST && (moved < LONGEST - 1 || line[18]));
    end

    // The model: words since the last SKP set began on the lane, or since electrical idle.
    wire skip = !word[21] && word[17:0] == 18'h31cbc;
    reg [9:0] gap = 0;
    reg started = 0;
    wire [9:0] since = word[21] || skip || !started ? 10'd0 : gap + 10'd1;
    always @(posedge clock) {started, gap} <= {1'b1, since};

    // What a user sees.
    always @(*) skp_gap: assert(since < LIMIT);

    // What makes it so in every state that can be reached. `ahead` is `since` of the word that the block is about to send.
    wire [9:0] ahead = mode == 0 || mode == 1 && kind == 1 && place == 0 ? 10'd0 : since + 10'd1;
    wire farewell = mode == 1 && kind == 2;
    always @(*) begin
        range: assert(passed < INTERVAL && owed <= 1 && kind != 3 && (mode != 1 || kind == 0 || place <= 1));
        at_end: assert(interval_ends == (passed == INTERVAL - 1));
        if (mode == 0 && owed != 0) left: assert(passed <= LONGEST + 10'd5);
        packet: assert(mode == 3 || moved == 0);
        if (mode != 0 && owed == 0) fresh: assert(ahead <= passed + 10'd2);
        if (mode != 0 && owed != 0) late: assert(ahead <= passed + INTERVAL + 10'd2
            && passed <= (farewell ? LONGEST + 10'd2 + place : mode == 1 ? {7'd0, place} : moved));
    end

    always @(*) late_one: cover(skip && gap > INTERVAL + 4);
endmodule
