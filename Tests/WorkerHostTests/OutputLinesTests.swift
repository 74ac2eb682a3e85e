import Testing

@testable import WorkerHost

@Suite struct OutputLinesTests {
    private let start = ContinuousClock.now

    private func take(_ lines: inout OutputLines, _ text: String, after seconds: Int = 0) -> [OutputLines.Event] {
        Array(text.utf8).withUnsafeBytes { lines.take($0, at: start.advanced(by: .seconds(seconds))) }
    }

    @Test func aLineIsPassedOnWhenItHasEndedInWhateverPiecesItComes() {
        var lines = OutputLines()
        #expect(take(&lines, "on") == [])
        #expect(take(&lines, "e\ntwo\n\nthr") == [.line("one"), .line("two")])
        #expect(lines.finish() == [.line("thr")])
        #expect(lines.finish() == [])
        #expect(lines.last == ["one", "two", "thr"])
    }

    @Test func aLongLineIsCutAndItsRestIsNoOtherLine() {
        var lines = OutputLines(limits: .init(lineBytes: 4))
        #expect(take(&lines, "abcd\nabcde\nab") == [.line("abcd"), .line("abcd…")])
        #expect(take(&lines, "cdefgh") == [])
        #expect(take(&lines, "ij\nx\n") == [.line("abcd…"), .line("x")])
    }

    @Test func linesBeyondTheRateAreCountedAndTheNextSecondHasItsOwn() {
        var lines = OutputLines(limits: .init(linesPerSecond: 2))
        #expect(take(&lines, "a\nb\nc\nd\n") == [.line("a"), .line("b")])
        #expect(take(&lines, "e\n") == [])
        #expect(take(&lines, "f\n", after: 1) == [.omitted(3), .line("f")])
        #expect(take(&lines, "g\nh\n", after: 1) == [.line("g")])
        #expect(lines.finish() == [.omitted(1)])
    }

    @Test func nothingOfALineControlsATerminalAndBrokenTextIsRepaired() {
        var lines = OutputLines()
        #expect(take(&lines, "\u{1B}[31mred\r\tx\u{202E}\n") == [.line("\u{FFFD}[31mred\u{FFFD} x\u{FFFD}")])
        let broken = [0xC3, 0x28, 0xFF, 0x00, 0x0A] as [UInt8]
        #expect(broken.withUnsafeBytes { lines.take($0, at: start) } == [.line("\u{FFFD}(\u{FFFD}\u{FFFD}")])
    }

    @Test func aFloodPausesTheReadingUntilTheSecondIsOver() {
        var lines = OutputLines(limits: .init(bytesPerSecond: 4))
        _ = take(&lines, "abc")
        #expect(lines.pause(at: start) == nil)
        _ = take(&lines, "d")
        #expect(lines.pause(at: start) == start.advanced(by: .seconds(1)))
        #expect(lines.pause(at: start.advanced(by: .seconds(1))) == nil)
    }

    @Test func theLastLinesAreKept() {
        var lines = OutputLines(limits: .init(kept: 2))
        _ = take(&lines, "a\nb\nc\n")
        #expect(lines.last == ["b", "c"])
    }

    @Test func theFramesAfterAFatalErrorDoNotPushItsMessageOut() {
        var lines = OutputLines(limits: .init(kept: 3))
        let written = ["Fatal error: no", "Current stack trace:", "0 (a) b + 1", "1 (c) d", "2 (e) f", "after"]
        #expect(take(&lines, written.map { $0 + "\n" }.joined()) == written.map { .line($0) })
        #expect(lines.last == ["Fatal error: no", "after"])
    }
}
