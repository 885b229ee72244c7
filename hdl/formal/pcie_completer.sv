// Completer: each of our own TLPs is counted once, before it begins, as what it is; so OwnCredits counts what is sent.
//
// watch: step = dut.step
// watch: at = dut.at
// watch: is_message = dut.message
// watch: refusing = dut.refusing
// watch: writes = dut.writes
module proof(
    input wire clock, input wire reset, input wire entry_valid, input wire [1:0] entry, input wire [15:0] word,
    input wire turn_off, input wire hold, input wire [31:0] value, input wire asks_reset, input wire tlp_ready
);
    wire entry_ready, write, tlp_valid, start_reset, parted, leaves, busy, freed, count_completion, count_data, count_message;
    wire [2:0] row;
    wire [3:0] enables;
    wire [9:0] index;
    wire [15:0] identity;
    wire [17:0] tlp;
    wire [31:0] data;
    top dut(
        .clock(clock), .reset(reset), .entry_valid(entry_valid), .entry_ready(entry_ready), .entry(entry), .row(row), .word(word),
        .turn_off(turn_off), .hold(hold), .index(index), .write(write), .enables(enables), .data(data), .value(value),
        .asks_reset(asks_reset), .identity(identity), .tlp_valid(tlp_valid), .tlp_ready(tlp_ready), .tlp(tlp),
        .start_reset(start_reset), .parted(parted), .leaves(leaves), .busy(busy), .freed(freed),
        .count_completion(count_completion), .count_data(count_data), .count_message(count_message)
    );
    (* keep *) wire [2:0] step, at;
    (* keep *) wire is_message, refusing, writes;

    // The model: what was counted and has not begun yet, and whether a TLP is under way, by its first and last words.
    reg completion_due = 0, data_due = 0, message_due = 0, inside = 0;
    reg [2:0] place = 0;
    wire moves = tlp_valid && tlp_ready;
    wire begins = moves && !inside;
    always @(posedge clock) begin
        completion_due <= !reset && (count_completion || completion_due && !begins);
        data_due <= !reset && (count_data || data_due && !begins);
        message_due <= !reset && (count_message || message_due && !begins);
        if (moves) inside <= !tlp[17];
        if (moves) place <= tlp[17] ? 0 : place + 1;
        if (reset) {inside, place} <= 0;
    end

    // What a user sees. The first byte says what it is: Cpl 0A and 0B, CplD 4A, Msg 35.
    wire [7:0] kind = tlp[7:0];
    always @(*) begin
        if (tlp_valid) first: assert(tlp[16] == !inside);
        if (tlp_valid && !inside) paid: assert(message_due ? kind == 8'h35 && !completion_due && !data_due
            : completion_due && (data_due ? kind == 8'h4a : kind == 8'h0a || kind == 8'h0b));
        if (count_completion || count_data || count_message)
            once: assert(!completion_due && !message_due && !inside && !(count_completion && count_message) && (!count_data || count_completion));
    end

    // What makes it so in every state that can be reached.
    wire sends = step == 5;
    always @(*) begin
        due: assert((completion_due || message_due) == (sends && !inside) && (!data_due || completion_due));
        if (sends) where: assert(at == place && inside == (place != 0));
        if (!sends) outside: assert(!inside && place == 0);
        if (sends && !inside) what: assert(message_due == is_message && completion_due == !is_message
            && data_due == (!refusing && !writes && !is_message));
        if (step == 0) starts: assert(at == 0);
        if (step == 2 || step == 3 || step == 4 || step == 6) begins_at: assert(at == 0);
        if (step == 1 || step == 2 || step == 3 || step == 4) answers: assert(!is_message);
        known: assert(step <= 6);
    end

    always @(*) parts: cover(leaves && begins && kind == 8'h4a);
endmodule
