// Distance<24>: the way from one number to another round a circle, and its side.
module proof(input wire [23:0] number, input wire [23:0] from);
    wire [23:0] distance;
    wire same, ahead, behind;
    top dut(
        .number(number), .from(from), .distance(distance), .same(same), .ahead(ahead), .behind(behind)
    );

    // The model: a way of up to half a circle, there or back, as a signed number.
    wire signed [23:0] way = distance;

    // What a user sees.
    always @(*) begin
        arrives: assert(from + distance == number);
        equal: assert(same == (way == 0));
        later: assert(ahead == (way > 0));
        earlier: assert(behind == (way < 0));
    end

    always @(*) wrapped: cover(behind && number > from);
endmodule
