import AdapterKit
import Testing

@testable import WorkerHost

@Suite struct FrontPageLimitsTests {
    @Test func `a program has some lines of the front page, not more`() {
        let long = String(repeating: "a", count: 10_000)
        let many = (0..<100).map { FrontPageEntry(title: long, path: "/\($0)", summary: long) }
        let shown = FrontPageLimits.applied(to: many)
        #expect(shown.count == FrontPageLimits.entries)
        #expect(shown.allSatisfy { $0.title.utf8.count < 600 && $0.summary.utf8.count < 600 })
        // A path that was cut would lead elsewhere.
        #expect(FrontPageLimits.applied(to: [FrontPageEntry(title: "a", path: "/" + long, summary: "")]).isEmpty)
    }
}
