import AdapterKit
import AdapterProtocol
import Testing

@Suite struct ErrorValuesTests {
    /// A caller gets the message, and the log each text: one error of megabytes kept the gateway's log for seconds.
    @Test(arguments: ["error", "upstream", "mirror", "configuration"])
    func `texts of errors are cut`(name: String) throws {
        let long = WireValue.string(String(repeating: "\u{1}", count: 100_000))
        var members: WireDictionary = [
            "message": long, "target": long, "logDetail": long, "detail": long, "path": long,
        ]
        members["code"] = "record.conflict"
        members["upstream"] = "crm"
        members["kind"] = name == "mirror" ? "unexpected" : "broken"
        let crossing = try CrossingError(message: [name: .dictionary(members)])
        let texts =
            switch crossing.error {
            case let error as PorticoError: [error.message, error.target ?? "", error.logDetail ?? ""]
            case let failure as UpstreamFailure: [failure.detail]
            case let refusal as MirrorRefusal: [refusal.detail]
            case let problem as ConfigurationProblem: [problem.path, problem.message]
            default: [String]()
            }
        #expect(!texts.isEmpty)
        for text in texts { #expect(text.hasSuffix(" …") && text.utf8.count <= CrossingError.detailBytes + 4) }
    }

    @Test func `a text is cut between characters, and a short one is as it was`() {
        #expect("short".cut(toBytes: 5) == "short")
        #expect("shorter".cut(toBytes: 5) == "short …")
        #expect("aé".cut(toBytes: 2).utf8.count <= 8)
    }
}
