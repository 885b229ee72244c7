// RingSlot<14, 4>: the slot of a position in a ring of any size, and whether its lap is odd.
module proof(input wire [13:0] position, input wire [3:0] log2);
    wire [13:0] slot;
    wire odd_lap;
    top dut(.position(position), .log2(log2), .slot(slot), .odd_lap(odd_lap));

    // The owner's part of the contract.
    always @(*) assume(log2 < 14);

    // The model: division, as it is written on paper.
    wire [13:0] size = 14'd1 << log2;
    wire [13:0] laps = position >> log2;

    // What a user sees.
    always @(*) begin
        place: assert(slot < size);
        whole: assert(slot + (laps << log2) == position);
        lap: assert(odd_lap == laps[0]);
    end

    always @(*) second: cover(odd_lap && slot == 3 && log2 == 5);
endmodule
