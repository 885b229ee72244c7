//! ECP5's DCU 0 and its reference clock: one channel, 2.5 Gb/s, 8b/10b and the elastic buffer inside, two symbols a cycle of 125 MHz.
//!
//! ```text
//!         reference, rx ──►┌─────┐──► tx, pclk
//!        sent, tx_idle ──►│     │──► received
//!             *_reset ──►│ Dcu │──► tx_unlocked, rx_unlocked, rx_lost, rx_slipped
//! detect_enable, start ──►│     │──► detect_done, detect_present
//!            rx_invert ──►└─────┘
//! ```
//! Contract: Lattice's TN1261 has that of the cell (DCUA), and docs/boards.md what of it is disputed. All status but `received` is of no clock.
//!
//! Latency: the cell's own, some tens of cycles each way.
//!
//! How: the values are those with which others have run the cell as PCI Express, by facts/figures of their public sources: Yumewatari
//! (0BSD) and katsuo-pcie (MIT). They agree but for what [`DcuOptions`] has, and for the elastic buffer, which the former leaves out. Words of the
//! channel are at half rate ("1:2 gear"), in the domain of FF_TX_PCLK on the way in, too. In Verilator the cell is deaf and mute: there is no model of it.
//!
//! Example: `sent` is 0x0001BC: COM and D0.0 leave on the lane.
//!
//! Tests: none but the build for a board, and a board.

use super::DcuOptions;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Dcu {
    /// The slot's reference clock, 100 MHz: the positive pad of a pair.
    pub reference_p: Signal<In, Clock>,
    /// The negative pad of the reference clock, from the slot.
    pub reference_n: Signal<In, Clock>,
    /// The lane that comes, from the slot: the positive pad of a pair.
    pub rx_p: Signal<In, bool>,
    /// The negative pad of the lane that comes, from the slot.
    pub rx_n: Signal<In, bool>,
    /// The lane that goes.
    pub tx_p: Signal<Out, bool>,
    /// The negative pad of that pair.
    pub tx_n: Signal<Out, bool>,
    /// 125 MHz.
    pub pclk: Signal<Out, Clock>,
    /// Two symbols and their status: see [`PcsWords`](super::PcsWords).
    pub received: Signal<Out, Bits<24>>,
    /// Two symbols to send, from `PcsWords`.
    pub sent: Signal<In, Bits<24>>,
    /// Electrical idle in place of `sent`, from `PcsWords`.
    pub tx_idle: Signal<In, bool>,
    /// What comes is inverted, from the seam.
    pub rx_invert: Signal<In, bool>,
    /// Reset of the transmit PLL, from `TxStart`.
    pub tx_pll_reset: Signal<In, bool>,
    /// Reset of the transmit PCS, from `TxStart`.
    pub tx_pcs_reset: Signal<In, bool>,
    /// Reset of the receiver's clock recovery, from `RxStart`.
    pub rx_cdr_reset: Signal<In, bool>,
    /// Reset of the receive PCS, from `RxStart`.
    pub rx_pcs_reset: Signal<In, bool>,
    /// The transmit PLL has not locked.
    pub tx_unlocked: Signal<Out, bool>,
    /// The clock recovery has not locked.
    pub rx_unlocked: Signal<Out, bool>,
    /// There is no signal.
    pub rx_lost: Signal<Out, bool>,
    /// The elastic buffer has run empty or over; it stays so until the PCS's reset.
    pub rx_slipped: Signal<Out, bool>,
    /// Receiver detection is on, from `Detector`.
    pub detect_enable: Signal<In, bool>,
    /// Receiver detection begins, from `Detector`.
    pub detect_start: Signal<In, bool>,
    /// Receiver detection has ended.
    pub detect_done: Signal<Out, bool>,
    /// There is a receiver.
    pub detect_present: Signal<Out, bool>,
    _options: DcuOptions,
}

/// Parameters of the dual, that both channels share: power, reference times 25, PLL.
const DUAL: &str = "\
D_MACROPDB 0b1, D_IB_PWDNB 0b1, D_TXPLL_PWDNB 0b1, D_REFCK_MODE 0b100, D_TX_MAX_RATE 2.5, D_TX_VCO_CK_DIV 0b000, D_BITCLK_LOCAL_EN 0b1, \
D_LOW_MARK 0d4, D_HIGH_MARK 0d12, D_CMUSETBIASI 0b00, D_CMUSETI4CPP 0d4, D_CMUSETI4CPZ 0d3, D_CMUSETI4VCO 0b00, D_CMUSETICP4P 0b01, \
D_CMUSETICP4Z 0b101, D_CMUSETINITVCT 0b00, D_CMUSETISCL4VCO 0b000, D_CMUSETP1GM 0b000, D_CMUSETP2AGM 0b000, D_CMUSETZGM 0b100, \
D_SETIRPOLY_AUX 0b10, D_SETICONST_AUX 0b01, D_SETIRPOLY_CH 0b10, D_SETICONST_CH 0b10, D_SETPLLRC 0d1, D_RG_SET 0b00";

/// Parameters of the channel: protocol, receiver, its clock recovery, loss of signal, comma, elastic buffer, transmitter.
const CHANNEL: &str = "\
PROTOCOL PCIE, PCIE_MODE 0b1, ENC_BYPASS 0b0, DEC_BYPASS 0b0, RPWDNB 0b1, TPWDNB 0b1, RTERM_RX 0d22, RXIN_CM 0b11, CDR_MAX_RATE 2.5, \
RX_DCO_CK_DIV 0b000, RX_GEAR_MODE 0b1, TX_GEAR_MODE 0b1, FF_RX_H_CLK_EN 0b1, FF_RX_F_CLK_DIS 0b1, FF_TX_H_CLK_EN 0b1, FF_TX_F_CLK_DIS 0b0, \
AUTO_FACQ_EN 0b1, AUTO_CALIB_EN 0b1, PDEN_SEL 0b1, DCOATDCFG 0b00, DCOATDDLY 0b00, DCOBYPSATD 0b1, DCOCALDIV 0b010, DCOCTLGI 0b011, \
DCODISBDAVOID 0b1, DCOFLTDAC 0b00, DCOFTNRG 0b010, DCOIOSTUNE 0b010, DCOITUNE 0b00, DCOITUNE4LSB 0b010, DCOIUPDNX2 0b1, DCONUOFLSB 0b101, \
DCOSCALEI 0b01, DCOSTARTVAL 0b010, DCOSTEP 0b11, RLOS_SEL 0b1, RX_LOS_EN 0b1, RX_LOS_LVL 0b100, RX_LOS_CEQ 0b11, ENABLE_CG_ALIGN 0b1, \
UDF_COMMA_MASK 0x3ff, UDF_COMMA_A 0x283, UDF_COMMA_B 0x17C, CTC_BYPASS 0b0, MIN_IPG_CNT 0b11, CC_MATCH_1 0x1BC, CC_MATCH_2 0x11C, \
CC_MATCH_3 0x11C, CC_MATCH_4 0x11C, TXAMPLITUDE 0d1000, RTERM_TX 0d19, TDRV_SLICE0_CUR 0b011, TDRV_SLICE0_SEL 0b01, TDRV_SLICE1_CUR 0b000, \
TDRV_SLICE1_SEL 0b00, TDRV_SLICE2_CUR 0b11, TDRV_SLICE2_SEL 0b01, TDRV_SLICE3_CUR 0b11, TDRV_SLICE3_SEL 0b01, TDRV_SLICE4_CUR 0b11, \
TDRV_SLICE4_SEL 0b01, TDRV_SLICE5_CUR 0b00, TDRV_SLICE5_SEL 0b00";

/// Inputs of the channel, and what drives each; the rest of the cell is left open.
const INPUTS: &str = "\
HDINP rx_p, HDINN rx_n, RX_REFCLK reference, FF_RXI_CLK words, FF_TXI_CLK words, FFC_RXPWDNB 1'b1, FFC_TXPWDNB 1'b1, FFC_SIGNAL_DETECT 1'b1, \
FFC_ENABLE_CGALIGN 1'b1, FFC_RRST rx_cdr_reset, FFC_LANE_RX_RST rx_pcs_reset, FFC_LANE_TX_RST tx_pcs_reset, FFC_SB_INV_RX rx_invert, \
FFC_PCIE_DET_EN detect_enable, FFC_PCIE_CT detect_start, FFC_SB_PFIFO_LP 1'b0, FFC_PFIFO_CLR 1'b0, FFC_FB_LOOPBACK 1'b0";

/// Outputs of the channel, and what they drive.
const OUTPUTS: &str = "\
HDOUTP tx_p, HDOUTN tx_n, FF_TX_PCLK words, FF_TX_F_CLK full_rate, FF_TX_H_CLK half_rate, FFS_RLOS rx_lost, FFS_RLOL rx_unlocked, \
FFS_CC_UNDERRUN ran_empty, FFS_CC_OVERRUN ran_over, FFS_PCIE_DONE detect_done, FFS_PCIE_CON detect_present";

impl Dcu {
    /// With these settings.
    pub fn new(options: DcuOptions) -> Self {
        Self { _options: options, ..Self::default() }
    }

    /// The cell's parameters, as they stand in Verilog.
    fn parameters(&self) -> String {
        let DcuOptions { ground_termination, full_rate_buffer, whole_skp_sets, regulator, .. } =
            self._options;
        let bit = |set: bool| if set { "0b1" } else { "0b0" };
        let named = |prefix: &str, list: &str| -> Vec<String> {
            let parameter = |item: &str| {
                item.split_once(' ').map(|(name, value)| format!(".{prefix}{name}(\"{value}\")"))
            };
            list.split(", ").filter_map(parameter).collect()
        };
        let mut all = named("", DUAL);
        all.extend(named("CH0_", CHANNEL));
        all.push(format!(".D_RG_EN(\"{}\")", bit(regulator)));
        all.push(format!(".CH0_RXTERM_CM(\"{}\")", if ground_termination { "0b10" } else { "0b11" }));
        all.push(format!(".CH0_MATCH_4_ENABLE(\"{}\")", bit(whole_skp_sets)));
        all.push(format!(".CH0_SEL_SD_RX_CLK(\"{}\")", bit(!full_rate_buffer)));
        all.join(",\n   ")
    }

    /// The cells for tools that do not know them.
    fn black_boxes(&self) -> String {
        let names = |text: &str| -> Vec<String> {
            text.split('.').filter_map(|item| item.split_once('(')).map(|(name, _)| name.to_owned()).collect()
        };
        let parameters = names(&self.parameters());
        let ports = names(&self.connections());
        let is_pad = |port: &str| port.contains("_HDIN") || port.contains("_HDOUT");
        let is_output = |port: &str| {
            OUTPUTS
                .split(", ")
                .any(|item| port == format!("CH0_{}", item.split(' ').next().unwrap_or_default()))
                || port.starts_with("CH0_FF_RX_D_")
                || port == "D_FFS_PLOL"
        };
        let port = |name: &String| {
            let way = if is_output(name) { "output" } else { "input" };
            format!("{}{way} wire {name}", if is_pad(name) { "(* iopad_external_pin *) " } else { "" })
        };
        format!(
            "`ifndef VERILATOR\n(* blackbox *)\nmodule EXTREFB #(parameter REFCK_PWDNB = \"\", REFCK_RTERM = \"\", \
             REFCK_DCBIAS_EN = \"\") (\n(* iopad_external_pin *) input wire REFCLKP, (* iopad_external_pin *) input wire REFCLKN, \
             output wire REFCLKO);\nendmodule\n(* blackbox *)\nmodule DCUA #(parameter {}) (\n{});\nendmodule\n`endif\n",
            parameters.iter().map(|name| format!("{name} = \"\"")).collect::<Vec<_>>().join(", "),
            ports.iter().map(port).collect::<Vec<_>>().join(", ")
        )
    }

    /// Its connections.
    fn connections(&self) -> String {
        let buffer = if self._options.full_rate_buffer { "full_rate" } else { "half_rate" };
        let named = |list: &str| -> Vec<String> {
            let port = |item: &str| item.split_once(' ').map(|(name, wire)| format!(".CH0_{name}({wire})"));
            list.split(", ").filter_map(port).collect()
        };
        let mut all = named(INPUTS);
        all.extend(named(OUTPUTS));
        all.push(format!(".CH0_FF_EBRD_CLK({buffer})"));
        // Bits 11 and 23 of a word are electrical idle.
        let by_port = self._options.idle_by_port;
        let sent = |bit| match bit {
            11 | 23 if !by_port => "tx_idle".into(),
            _ => format!("sent[{bit}]"),
        };
        let word = |bit| format!(".CH0_FF_TX_D_{bit}({}), .CH0_FF_RX_D_{bit}(received[{bit}])", sent(bit));
        all.extend((0..24).map(word));
        all.push(format!(".CH0_FFC_EI_EN({})", if by_port { "tx_idle" } else { "1'b0" }));
        all.extend(
            ["D_REFCLKI(reference)", "D_FFC_MACROPDB(1'b1)", "D_FFC_MACRO_RST(1'b0)", "D_FFC_DUAL_RST(1'b0)"]
                .map(|port| format!(".{port}")),
        );
        all.push(".D_FFC_TRST(tx_pll_reset), .D_FFS_PLOL(tx_unlocked)".into());
        all.join(",\n   ")
    }
}

impl Logic for Dcu {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.tx_p.connect();
        self.tx_n.connect();
        self.pclk.connect();
        self.received.connect();
        self.tx_unlocked.connect();
        self.rx_unlocked.connect();
        self.rx_lost.connect();
        self.rx_slipped.connect();
        self.detect_done.connect();
        self.detect_present.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Wrapper(Wrapper {
            code: format!(
                "\
`ifdef VERILATOR
assign pclk = reference_p;
assign {{tx_p, tx_n, tx_unlocked, rx_unlocked, rx_lost, rx_slipped, detect_done, detect_present}} = 8'b00011100;
assign received = 24'b0;
wire unused = &{{reference_n, rx_p, rx_n, sent, tx_idle, rx_invert, tx_pll_reset, tx_pcs_reset, rx_cdr_reset, rx_pcs_reset,
   detect_enable, detect_start}};
`else
wire reference, full_rate, half_rate, ran_empty, ran_over;
(* keep *) wire words;
assign pclk = words;
assign rx_slipped = ran_empty | ran_over;
(* LOC=\"EXTREF0\" *)
EXTREFB #(
   .REFCK_PWDNB(\"0b1\"), .REFCK_RTERM(\"0b1\"), .REFCK_DCBIAS_EN(\"0b0\")
) cell_0 (
   .REFCLKP(reference_p), .REFCLKN(reference_n), .REFCLKO(reference)
);
(* LOC=\"DCU0\", CHAN=\"CH0\" *)
DCUA #(
   {}
) cell_1 (
   {}
);
`endif
",
                self.parameters(),
                self.connections()
            ),
            cores: self.black_boxes(),
        })
    }
}
