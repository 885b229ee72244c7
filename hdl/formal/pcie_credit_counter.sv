// CreditCounter: each packet that leaves takes the credits off that it costs, of its class and once, with its last beat.
//
// The three ClassCredits are not in here: what they make of it is proved of one alone.
//
// abstract: class_credit
// share: posted_spend = dut.posted.spend
// share: non_posted_spend = dut.non_posted.spend
// share: completions_spend = dut.completions.spend
// share: posted_units = dut.posted.units
// share: completions_units = dut.completions.units
// watch: under_way = dut.under_way
module class_credit(
    input wire clock, input wire reset, input wire [21:0] limit, input wire heard, input wire spend, input wire [11:0] units,
    output wire [7:0] headers, output wire [11:0] data
);
    (* anyseq *) reg [19:0] any;
    assign {headers, data} = any;
endmodule

module proof(
    input wire clock, input wire down, input wire [65:0] limits, input wire heard, input wire moves,
    input wire [66:0] beat, input wire [1:0] sort
);
    wire [7:0] posted_headers, non_posted_headers, completion_headers;
    wire [11:0] posted_data, completion_data;
    top dut(
        .clock(clock), .down(down), .limits(limits), .heard(heard), .moves(moves), .beat(beat), .sort(sort),
        .posted_headers(posted_headers), .posted_data(posted_data), .non_posted_headers(non_posted_headers),
        .completion_headers(completion_headers), .completion_data(completion_data)
    );
    (* keep *) wire posted_spend, non_posted_spend, completions_spend, under_way;
    (* keep *) wire [11:0] posted_units, completions_units;

    // The model: whether a packet is under way, and what its first beat says that it costs.
    reg inside = 0, left = 0;
    reg [11:0] cost = 0;
    wire [10:0] double_words = beat[9:0] == 0 ? 11'd1024 : beat[9:0];
    wire leaves = moves && beat[66];
    always @(posedge clock) begin
        left <= leaves;
        if (moves) inside <= !beat[66];
        if (moves && !inside) cost <= beat[30] ? (double_words + 12'd3) / 4 : 12'd0;
        if (down) inside <= 0;
    end

    // What the block relies on.
    // from: outside: a TLP has three double words or more, so it leaves in two beats or more
    always @(*) if (moves && !inside) two_beats: assume(!beat[66]);

    // What a user sees.
    always @(*) begin
        once: assert({completions_spend, non_posted_spend, posted_spend} == (leaves && sort != 3 ? 3'd1 << sort : 3'd0));
        if (leaves) price: assert(posted_units == cost && completions_units == cost);
        if (left) seldom: assert(!posted_spend && !non_posted_spend && !completions_spend);
    end

    // What makes it so in every state that can be reached.
    always @(*) way: assert(under_way == inside && (!inside || posted_units == cost) && completions_units == posted_units && (!left || !inside));

    always @(*) large: cover(posted_spend && posted_units == 256);
endmodule
