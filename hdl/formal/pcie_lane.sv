// Lane: an ordered set that has begun goes out whole, and so does a packet, whatever is ordered meanwhile.
//
// The model reads the lane as a link partner does, symbol by symbol, and knows nothing of orders. Only `reset` cuts: the transceiver is not
// ready then.
//
// watch: mode = dut.mode
// watch: kind = dut.kind
// watch: place = dut.place
// watch: obeyed = dut.obeyed
module proof(
    input wire clock, input wire reset, input wire line_valid, input wire [18:0] line, input wire [16:0] order, input wire no_scramble
);
    wire line_ready, began, began_tag, settled;
    wire [21:0] word;
    top dut(
        .clock(clock), .reset(reset), .line_valid(line_valid), .line_ready(line_ready), .line(line), .order(order),
        .no_scramble(no_scramble), .word(word), .began(began), .began_tag(began_tag), .settled(settled)
    );
    (* keep *) wire [1:0] mode, kind;
    (* keep *) wire [2:0] place;
    (* keep *) wire [16:0] obeyed;

    // What comes: where the packet is. `link` drops one when the link is down, which is long after the last one was on the lane: the LTSSM gets
    // from L0 to Detect, Hot Reset or Disabled by Recovery, where it sends sets.
    reg [7:0] moved = 0;
    reg stood = 0, took = 0, reset_1 = 1, reset_2 = 1, started = 0;
    reg [18:0] taken;
    always @(posedge clock) begin
        started <= 1;
        stood <= line_valid && !line_ready && !reset;
        took <= line_valid && line_ready;
        taken <= line;
        if (line_valid && line_ready) moved <= line[18] ? 8'd0 : moved + 8'd1;
        if (reset) moved <= 0;
        {reset_1, reset_2} <= {reset, reset_1};
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
        // from: pcie_frame.stands
        if (stood) stands: assume(line_valid && line == taken);
        // from: pcie_frame.longest
        if (line_valid) longest: assume(moved < 140 && (moved < 139 || line[18]));
    end

    // The model. What goes: in a set, of which kind, at which word, and a training set's identifier; or in a packet.
    localparam [1:0] TRAINING = 0, SKIP = 1, FAREWELL = 2;
    wire [15:0] symbols = word[15:0];
    wire [1:0] k = word[17:16];
    wire silent = word[21];
    reg in_set = 0, in_packet = 0, was_silent = 0, farewell = 0;
    reg [1:0] what = 0;
    reg [2:0] at = 0;
    reg [7:0] identifier = 0;
    wire com = !silent && k[0] && symbols[7:0] == 8'hbc;
    wire start = !silent && k == 1 && (symbols[7:0] == 8'hfb || symbols[7:0] == 8'h5c);
    wire inside = (in_set || in_packet) && !reset_2;
    wire [1:0] kind_of = k[1] && symbols[15:8] == 8'h1c ? SKIP : k[1] && symbols[15:8] == 8'h7c ? FAREWELL : TRAINING;
    wire [2:0] length = what == TRAINING ? 3'd7 : 3'd1;
    always @(posedge clock) begin
        was_silent <= silent;
        farewell <= inside && in_set && what == FAREWELL;
        if (inside && in_set) begin
            in_set <= at != length;
            at <= at + 3'd1;
            if (at == 3) identifier <= symbols[7:0];
        end else if (inside) begin
            in_packet <= k != 2;
        end else begin
            {in_set, in_packet} <= {com, start};
            {what, at} <= {kind_of, 3'd1};
        end
    end

    // What a user sees.
    wire right = what == SKIP ? symbols == 16'h1c1c && k == 3 : what == FAREWELL ? symbols == 16'h7c7c && k == 3
        : at == 1 ? symbols[15:8] == 8'hff && (k == 1 && symbols[7:0] == 8'hf7 || k == 0 && symbols[7:0] == 0)
        : at == 2 ? symbols[7:0] == 8'h02 && k == 0
        : k == 0 && symbols[15:8] == symbols[7:0] && (at == 3 ? symbols[7:0] == 8'h4a || symbols[7:0] == 8'h45 : symbols[7:0] == identifier);
    always @(*) begin
        if (inside && in_set) set_whole: assert(right && !silent);
        if (inside && in_packet) packet_whole: assert(!silent && (k == 0 || k == 2 && symbols[15:8] == 8'hfd));
        if (!inside) between: assert(silent || com && (k[1] ? kind_of != TRAINING || symbols[15:8] == 8'hf7 : 1'b1) || start
            || symbols == 0 && k == 0);
        if (started) carried: assert(took ? {k, symbols} == taken[17:0] && !silent : !start && (!in_packet || reset_2));
        if (moved != 0) ready: assert(line_ready || reset_1);
        if (silent && !was_silent && !reset_2) last_words: assert(farewell || !started);
        marks: assert(word[18] == com && (!word[20] || !in_packet) && (!word[19] || com && kind_of == SKIP || in_set && what == SKIP));
    end

    // What makes it so in every state that can be reached. Where the word leaves the model, the block goes on.
    wire goes_on = inside && in_set && at != length;
    wire in_set_1 = inside ? goes_on : com;
    wire in_packet_1 = inside ? in_packet && k != 2 : start;
    wire [1:0] what_1 = inside ? what : kind_of;
    wire [2:0] at_1 = inside ? at + 3'd1 : 3'd1;
    wire [7:0] identifier_1 = inside && at == 3 ? symbols[7:0] : identifier;
    always @(*) begin
        one: assert(!in_set || !in_packet);
        if (in_set) position: assert(at != 0 && at <= length && what != 3);
        kinds: assert(kind != 3 && (mode != 1 || place == 0 || kind == TRAINING || place == 1));
        if (reset_1) cut: assert(mode == 0 && moved == 0);
        if (!reset_1) begin
            if (mode == 1) set_under_way: assert(!in_packet_1 && in_set_1 == (place != 0) && (place == 0 || what_1 == kind && at_1 == place));
            if (mode == 1 && place > 3 && kind == TRAINING) same: assert(identifier_1 == (obeyed[2] ? 8'h45 : 8'h4a));
            if (mode != 1) no_set: assert(!in_set_1 && in_packet_1 == (mode == 3 && moved != 0));
            if (mode != 3) no_packet: assert(moved == 0);
            if (mode == 0) after: assert(silent || inside && in_set && what == FAREWELL);
        end
    end

    // A packet, then the farewell that was ordered in the middle of it.
    reg [1:0] story = 0;
    always @(posedge clock) story <= story == 0 ? (in_packet && order[0] ? 2'd1 : 2'd0) : story == 1 && what == FAREWELL && in_set ? 2'd2 : story;
    always @(*) leaves: cover(story == 2 && silent);
endmodule
