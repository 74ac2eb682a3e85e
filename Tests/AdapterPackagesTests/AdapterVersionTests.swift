import AdapterPackages
import Testing

@Suite struct AdapterVersionTests {
    @Test func `versions come in the order of the specification`() throws {
        let texts = [
            "0.0.1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
            "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0",
        ]
        let versions = try texts.map { try #require(AdapterVersion($0)) }
        for (place, version) in versions.enumerated() {
            #expect(!version.precedes(version))
            for later in versions[(place + 1)...] {
                #expect(version.precedes(later) && !later.precedes(version), "\(version) \(later)")
            }
        }
    }

    @Test func `build metadata makes another version of the same precedence`() throws {
        let (plain, built) = try (#require(AdapterVersion("1.0.0")), #require(AdapterVersion("1.0.0+linux.1")))
        #expect(plain != built && !plain.precedes(built) && !built.precedes(plain))
    }

    @Test(arguments: [
        "", "1", "1.2", "1.2.3.4", "01.2.3", "1.02.3", "1.2.3-", "1.2.3-a..b", "1.2.3-01", "1.2.3+", "v1.2.3", "1.2.x",
        "1.2.-3", "1.2.3/..", "99999999999999999999.0.0", "1.2.3-\u{e4}", " 1.2.3",
        "1.2.3-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ])
    func `what is no semantic version is refused`(text: String) {
        #expect(AdapterVersion(text) == nil)
    }
}
