/// What happened in a run, line by line.
struct Trace {
    private let isKept: Bool
    private(set) var lines: [String] = []
    /// FNV-1a of all lines: two runs of one seed have the same.
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325

    init(isKept: Bool) {
        self.isKept = isKept
    }

    mutating func add(_ line: @autoclosure () -> String) {
        guard isKept else { return }
        let line = line()
        lines.append(line)
        for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
