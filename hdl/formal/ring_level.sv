// RingLevel<14, 4>: whether as many entries as a ring of any size has slots wait in it, or more.
module proof(input wire [13:0] level, input wire [3:0] log2);
    wire full, over;
    top dut(.level(level), .log2(log2), .full(full), .over(over));

    // The owner's part of the contract.
    always @(*) assume(log2 < 14);

    wire [13:0] size = 14'd1 << log2;

    // What a user sees.
    always @(*) begin
        none: assert(full == (level >= size));
        beyond: assert(over == (level > size));
    end

    always @(*) exactly: cover(full && !over && log2 == 13);
endmodule
