// OwnCredits: what the core is told is what the link partner has allowed, less what this layer has sent itself.
//
// watch: completions = dut.completions
// watch: units = dut.units
// watch: messages = dut.messages
module proof(
    input wire clock, input wire reset, input wire [65:0] limits,
    input wire count_completion, input wire count_data, input wire count_message
);
    wire [65:0] core_limits;
    top dut(
        .clock(clock), .reset(reset), .limits(limits), .count_completion(count_completion), .count_data(count_data),
        .count_message(count_message), .core_limits(core_limits)
    );
    (* keep *) wire [7:0] completions, messages;
    (* keep *) wire [11:0] units;

    // The model: what was sent since the link was up, and all of it a cycle before.
    reg [7:0] sent = 0, sent_before, posted = 0, posted_before;
    reg [11:0] sent_units = 0, units_before;
    reg [65:0] before;
    reg began = 0;
    always @(posedge clock) begin
        began <= 1;
        before <= limits;
        {sent_before, posted_before, units_before} <= {sent, posted, sent_units};
        sent <= reset ? 0 : sent + count_completion;
        sent_units <= reset ? 0 : sent_units + count_data;
        posted <= reset ? 0 : posted + count_message;
    end

    // What a user sees. Headers are bits 0 to 7 of a class, data bits 8 to 19, and two bits say that there is no limit.
    wire [7:0] posted_rest = before[7:0] - posted_before, rest = before[51:44] - sent_before;
    wire [11:0] rest_units = before[63:52] - units_before;
    always @(*) if (began) begin
        posted_left: assert(core_limits[21:0] == {before[21:8], posted_rest});
        completions_left: assert(core_limits[65:44] == {before[65:64], rest_units, rest});
        non_posted_left: assert(core_limits[43:22] == before[43:22]);
    end

    // What makes it so in every state that can be reached.
    always @(*) counted: assert(completions == sent && units == sent_units && messages == posted);

    always @(*) used_up: cover(began && core_limits[51:44] == 0 && before[51:44] == 3);
endmodule
