// SegmentPiece: the least of what is left of a segment, what is left of a packet, and 4096; and what ends with it.
module proof(input wire [31:0] segment, input wire [12:0] packet);
    wire [12:0] piece;
    wire ends_segment, ends_packet;
    top dut(
        .segment(segment), .packet(packet), .piece(piece),
        .ends_segment(ends_segment), .ends_packet(ends_packet)
    );

    // What a user sees.
    always @(*) begin
        fits: assert(piece <= segment && piece <= packet && piece <= 4096);
        least: assert(piece == segment || piece == packet || piece == 4096);
        whole: assert(ends_segment == (piece == segment));
        filled: assert(ends_packet == (piece == packet));
    end

    always @(*) cut: cover(!ends_segment && !ends_packet);
endmodule
