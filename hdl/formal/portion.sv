// Portion: the lesser of some bytes and a room for them, and which of them it is.
module proof(input wire [31:0] bytes, input wire [12:0] room);
    wire [12:0] portion;
    wire ends_bytes, ends_room;
    top dut(.bytes(bytes), .room(room), .portion(portion), .ends_bytes(ends_bytes), .ends_room(ends_room));

    // What a user sees.
    always @(*) begin
        fits: assert(portion <= bytes && portion <= room);
        least: assert(portion == bytes || portion == room);
        all: assert(ends_bytes == (portion == bytes));
        filled: assert(ends_room == (portion == room));
    end

    always @(*) both: cover(ends_bytes && ends_room && bytes != 0);
endmodule
