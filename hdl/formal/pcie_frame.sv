// Frame: what is on the line is packets, each from STP or SDP to END without a gap, and none longer than the longest TLP makes it.
//
// The check sums are not in here: words may be anything that they make of them.
//
// abstract: narrow_crc32_16
// abstract: dllp_crc
// watch: state = dut.state
// watch: is_short = dut.short
// watch: is_last = dut.last
// watch: shown_valid = dut.skid.shown_valid
// watch: spare_valid = dut.skid.spare_valid
// watch: shown = dut.skid.shown
// watch: spare = dut.skid.spare
module narrow_crc32_16(
    input wire clock, input wire start, input wire sink_valid, input wire [15:0] sink, output wire [31:0] value
);
    (* anyseq *) reg [31:0] any;
    assign value = any;
endmodule

module dllp_crc(
    input wire clock, input wire start, input wire sink_valid, input wire [15:0] sink, output wire [15:0] value
);
    (* anyseq *) reg [15:0] any;
    assign value = any;
endmodule

module proof(
    input wire clock, input wire reset, input wire in_l0, input wire dllp_valid, input wire [31:0] dllp,
    input wire waits, input wire [11:0] number, input wire [16:0] row, input wire line_ready
);
    localparam [7:0] ROWS = 8'd136, LONGEST = ROWS + 8'd4;
    wire dllp_ready, begins, takes, ends, rests, line_valid;
    wire [18:0] line;
    top dut(
        .clock(clock), .reset(reset), .in_l0(in_l0), .dllp_valid(dllp_valid), .dllp_ready(dllp_ready), .dllp(dllp),
        .waits(waits), .number(number), .row(row), .begins(begins), .takes(takes), .ends(ends), .rests(rests),
        .line_valid(line_valid), .line_ready(line_ready), .line(line)
    );
    (* keep *) wire [2:0] state;
    (* keep *) wire is_short, is_last, shown_valid, spare_valid;
    (* keep *) wire [18:0] shown, spare;

    // The model: words of the packet that have moved, and the word before, if it did not move.
    reg [7:0] moved = 0;
    reg stood = 0;
    reg [18:0] stood_word;
    // The TLP under way, from `begins` to `ends`: how many of its rows were taken, the last one, and for how many cycles.
    reg under_way = 0, all_rows = 0;
    reg [7:0] rows = 0;
    reg [2:0] age = 0;
    always @(posedge clock) begin
        stood <= line_valid && !line_ready && !reset;
        stood_word <= line;
        if (line_valid && line_ready) moved <= line[18] ? 8'd0 : moved + 8'd1;
        if (begins) {under_way, all_rows, rows, age} <= {1'b1, 1'b0, 8'd0, 3'd0};
        else if (age != 7) age <= age + 3'd1;
        if (takes) {all_rows, rows} <= {row[16], rows + 8'd1};
        if (ends) under_way <= 0;
        if (reset) {moved, under_way} <= 0;
    end

    // What the block relies on.
    // from: outside: a TLP of ours has 68 double words at most: Max_Payload_Size is 256 bytes at most, and it has no digest
    always @(*) if (takes && rows == ROWS - 1) longest_tlp: assume(row[16]);

    // What a user sees.
    wire inside = moved != 0;
    function legal(input first, input [18:0] word);
        legal = first ? word[17:16] == 1 && !word[18] && (word[7:0] == 8'hfb || word[7:0] == 8'h5c)
            : word[18] ? word[17:16] == 2 && word[15:8] == 8'hfd : word[17:16] == 0;
    endfunction
    always @(*) begin
        if (line_valid) framed: assert(legal(!inside, line));
        if (inside) gapless: assert(line_valid);
        if (stood) stands: assert(line_valid && line == stood_word);
        if (line_valid) longest: assert(moved < LONGEST && (moved < LONGEST - 1 || line[18]));
        if (begins) turn: assert(waits && in_l0 && !under_way && !dllp_ready);
        if (dllp_ready) turn_dllp: assert(dllp_valid && in_l0 && !under_way);
        if (takes) whole_tlp: assert(under_way && !all_rows);
        if (ends) end_of_tlp: assert(under_way && all_rows && age >= 2);
    end

    // What makes it so in every state that can be reached. Where the words that are in the skid end, the state goes on.
    wire [7:0] moved_1 = !shown_valid ? moved : shown[18] ? 8'd0 : moved + 8'd1;
    wire [7:0] moved_2 = !spare_valid ? moved_1 : spare[18] ? 8'd0 : moved_1 + 8'd1;
    always @(*) begin
        known: assert(state <= 5);
        if (!is_short) tlp: assert(under_way == (state == 1 || state == 2 || state == 3));
        if (is_short) no_tlp: assert(!under_way);
        if (state == 0 || state == 1) between: assert(moved_2 == 0);
        if (state == 1 && !is_short) at_head: assert(rows == 0 && !all_rows);
        if (state == 2) at_body: assert(is_short ? moved_2 == 1 && is_last : moved_2 == rows && is_last == all_rows && rows != 0);
        if (state == 3) at_low: assert(!is_short && moved_2 == rows + 8'd1 && all_rows);
        if (state == 4) at_high: assert(moved_2 == (is_short ? 8'd2 : rows + 8'd2));
        if (state == 5) at_close: assert(moved_2 == (is_short ? 8'd3 : rows + 8'd3));
        bound: assert(rows <= ROWS && (!under_way || all_rows || rows < ROWS) && (rows != 0 || state < 2 || is_short));
        if (under_way) ages: assert(age >= (state == 1 ? 0 : state == 2 ? 1 : 2));
        if (spare_valid) second: assert(shown_valid && legal(moved_1 == 0, spare) && moved_1 < LONGEST && (moved_1 < LONGEST - 1 || spare[18]));
    end

    always @(*) two_packets: cover(line_valid && line[18] && moved == 6 && state == 1);
endmodule
