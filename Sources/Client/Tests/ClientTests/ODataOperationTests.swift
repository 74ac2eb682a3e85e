import Foundation
import Testing
import ValueTree
import WireFormats

@testable import Client

/// Calls of functions and actions, as they go over the wire and come back.
@Suite("A call of an OData operation")
struct ODataOperationTests {
    private struct Wire: ODataCarrier {
        let transport: ScriptedTransport
        func response(to call: ServerCall) async throws -> TransportResponse {
            try await transport.send(TransportRequest(call, at: ServerAddress("http://sap.example")!, token: nil))
        }
    }

    private func connection(_ version: ODataVersion, _ answer: String = "", status: Int = 200) -> (
        ODataConnection, ScriptedTransport
    ) {
        let transport = ScriptedTransport { _ in
            TransportResponse(status: status, headers: [], body: Array(answer.utf8))
        }
        return (ODataConnection(Wire(transport: transport), root: ["odata"], version: version), transport)
    }

    private func body(_ transport: ScriptedTransport) throws -> WireValue {
        try JSONFormat().read(try #require(transport.requests.last?.body))
    }

    @Test("has a function's arguments in its address, and leaves out what is optional and nil")
    func functions() async throws {
        let (connection, transport) = connection(.v4, #"{"value":3}"#)
        let call = connection.operation(.function, "Sum").with("a", Int32(1)).with("b", "it's")
            .with(optional: "c", Int32?.none).with("d", Int32?.none).with(optional: "e", Int32(5))
        #expect(try await call.value(as: Int32.self) == 3)
        let request = try #require(transport.requests.last)
        #expect(request.method == "GET" && request.body == nil)
        #expect(request.url.removingPercentEncoding == "http://sap.example/odata/Sum(a=1,b='it''s',d=null,e=5)")
    }

    @Test("has an action's arguments in its body: values, none, lists and structures")
    func actions() async throws {
        let (connection, transport) = connection(.v4, status: 204)
        let state = AdmissionsService.State(stateCode: "OH", name: "Ohio")
        try await connection.operation(.action, "Move").with("n", Int32(1)).with("none", String?.none).with(
            "list", ["a", "b"]
        )
        .with("state", state).with("no", AdmissionsService.State?.none).perform()
        #expect(transport.requests.last?.method == "POST")
        #expect(transport.requests.last?.url == "http://sap.example/odata/Move")
        let sent = try body(transport)
        #expect(sent["n"] == 1 && sent["none"] == .null && sent["list"] == ["a", "b"] && sent["no"] == .null)
        #expect(sent["state"]?["StateCode"] == "OH" && sent["state"]?["Name"] == "Ohio")
    }

    @Test("has all arguments as options in version 2, and the method that the operation has", arguments: [true, false])
    func version2(_ isFunction: Bool) async throws {
        let (connection, transport) = connection(.v2, #"{"d":{"Find":true}}"#)
        let call = connection.operation(isFunction ? .function : .action, "Find").with("name", "a").with("n", Int32(2))
        #expect(try await call.value(as: Bool.self) == true)
        #expect(transport.requests.last?.method == (isFunction ? "GET" : "POST"))
        #expect(
            transport.requests.last?.url.hasSuffix("/odata/Find?name='a'&n=2") == true
                || transport.requests.last?.url.removingPercentEncoding?.hasSuffix("/odata/Find?name='a'&n=2") == true)
    }

    @Test("gives nil for null, and refuses what is of another type")
    func results() async throws {
        let (none, _) = connection(.v4, #"{"value":null}"#)
        #expect(try await none.operation(.function, "F").value(as: Int32.self) == nil)
        let (text, _) = connection(.v4, #"{"value":"x"}"#)
        await #expect(throws: ClientError.self) { try await text.operation(.function, "F").value(as: Int32.self) }
        await #expect(throws: ClientError.self) { try await text.operation(.function, "F").values(as: Int32.self) }
        let (list, _) = connection(.v4, #"{"value":[1,2]}"#)
        #expect(try await list.operation(.function, "F").values(as: Int32.self) == [1, 2])
        let (mixed, _) = connection(.v4, #"{"value":[1,"x"]}"#)
        await #expect(throws: ClientError.self) { try await mixed.operation(.function, "F").values(as: Int32.self) }
    }

    @Test("gives structures, one or many, and nil for an empty answer")
    func structures() async throws {
        let (one, _) = connection(.v4, #"{"StateCode":"OH","Name":"Ohio"}"#)
        let state = try await one.operation(.function, "F").structure(as: AdmissionsService.State.self)
        #expect(state?.stateCode == "OH")
        let (many, _) = connection(.v4, #"{"value":[{"StateCode":"OH"},{"StateCode":"NY"}]}"#)
        let states = try await many.operation(.function, "F").structures(as: AdmissionsService.State.self)
        #expect(states.map(\.stateCode) == ["OH", "NY"])
        let (empty, _) = connection(.v4, status: 204)
        #expect(try await empty.operation(.action, "F").structure(as: AdmissionsService.State.self) == nil)
    }

    @Test("of a record's members writes lists of values, and null for none")
    func lists() {
        var writer = ODataRowWriter(version: .v4)
        writer.set("a", [Int32(1), 2])
        writer.set("b", [Int32]?.none)
        #expect(writer.properties["a"] == [1, 2] && writer.properties["b"] == .null)
    }

    @Test(
        "reads dates and times whose parts are all there",
        arguments: [
            ("2024-02-29", true), ("2024--29", false), ("2024-02-", false), ("-02-29", false), ("2024-02", false),
            ("2024--02-29", false),
        ])
    func dates(_ text: String, _ isDate: Bool) {
        #expect((ODataDate(odata: .string(text)) != nil) == isDate)
    }

    @Test("reads twelve digits of a second, and no more")
    func fractions() {
        #expect(ODataTimeOfDay(odata: "12:30:00.123456789012")?.nanoseconds == 123_456_789)
        #expect(ODataTimeOfDay(odata: "12:30:00.1234567890123") == nil)
    }
}
