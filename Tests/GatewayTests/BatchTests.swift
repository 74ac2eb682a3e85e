import AdapterKit
import HTTPTypes
import Testing
import ValueTree
import WireFormats

@testable import Gateway

/// What a batch in this format can say.
private func carried(_ answer: BatchCallResponse, _ format: any WireFormat) -> BatchCallResponse {
    answer.leavingOutWhatFails { answer throws(PorticoError) in
        do throws(WireFormatError) {
            _ = try format.write(answer.value, options: WritingOptions(nulls: .omitMember))
        } catch {
            throw PorticoError(error)
        }
    }
}

@Suite struct BatchTests {
    @Test func `a gateway whose place another one takes is not kept by what it answered`() async throws {
        var host: NotesGateway? = try await NotesGateway()
        weak let gateway = host?.gateway
        weak let administration = host?.administration
        let body = #"{"calls": [{"id": "a", "method": "GET", "path": "/auth/me"}]}"#
        let answer = try #require(
            try await host?.send(.post, "/batch", body: Array(body.utf8), [.contentType: "application/json"]))
        #expect(answer.status == 200)
        host = nil
        // The task of the last request may still be ending.
        for _ in 0..<200 where gateway != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(gateway == nil && administration == nil)
    }

    private var made: BatchCallResponse {
        BatchCallResponse(
            id: "a", GatewayResponse(.created, headers: [.contentType: "application/json", .eTag: "\"1\""]))
    }

    @Test func `what a format cannot carry is left out of its part, and the status stays`() throws {
        let bodies: [WireValue] = [
            .array([.null]), .double(.nan), .uid(1), .string("\u{1}"), .null, ["a": 1], .data([0]),
        ]
        var left = 0
        for body in bodies {
            for format in FormatCatalogue.standard.formats {
                var answer = made
                answer.body = body
                let told = carried(answer, format)
                #expect(told.status == 201)
                #expect(told.headers["etag"] == .string("\"1\""))
                if let error = told.error {
                    left += 1
                    #expect(told.body == nil)
                    #expect(error.code == .notRepresentable)
                    #expect(told.value["error"]?["code"]?.stringValue == "format.notRepresentable")
                }
                #expect(throws: Never.self) {
                    try format.write(told.value, options: WritingOptions(nulls: .omitMember))
                }
            }
        }
        #expect(left >= 6)
    }

    @Test func `a part whose header fields cannot be carried keeps its id and status`() {
        var answer = made
        answer.headers["X"] = .uid(1)
        let told = carried(answer, JSONFormat())
        #expect(told.headers.isEmpty)
        #expect(told.status == 201)
    }

    @Test func `fields of one name are one text`() {
        let answer = BatchCallResponse(
            id: "a", GatewayResponse(.ok, headers: [.vary: "Accept", .vary: "Origin"]))
        #expect(answer.headers["vary"] == "Accept, Origin")
    }

    @Test func `bodies beyond the bytes of the batch are told`() async throws {
        let budget = BatchBudget(bytes: 10)
        let response = GatewayResponse(.ok, body: [UInt8](repeating: 0x20, count: 6))
        #expect(try await response.wholeBody(within: budget).count == 6)
        await #expect(throws: PorticoError.self) { _ = try await response.wholeBody(within: budget) }
    }

    @Test func `a call's body travels as JSON where that loses nothing`() throws {
        let catalogue = FormatCatalogue.standard
        func type(_ value: WireValue) throws -> String {
            try BatchBody(value, contentType: nil, "", catalogue).mediaType
        }
        #expect(try type(["a": [1, 1.5, "x", true, .null]]) == "application/json")
        #expect(try type(["a": .data([1])]) == "application/cbor")
        #expect(try type([.date(WireDate(secondsSinceReferenceDate: 0))]) == "application/cbor")
        #expect(try type(.double(.infinity)) == "application/cbor")
    }
}

@Suite struct AnswersAfterWritesTests {
    private let answers = ResponseEncoder(catalogue: .standard, clock: Epoch())

    private func written(_ value: WireValue, _ accept: MediaType, isDone: Bool) throws -> GatewayResponse {
        let request = GatewayRequest(
            id: "1", method: .post, target: .root, headers: [.accept: accept.essence], peer: "", body: .bytes([]),
            deadline: .now)
        return try answers.write(
            value, to: request, presentation: Presentation(), status: .created,
            validators: Validators(version: "1"), isDone: isDone)
    }

    @Test(arguments: [MediaType.plist, .binaryPlist])
    func `what a format cannot carry fails a read and is told in another format after a write`(accept: MediaType) throws
    {
        let value: WireValue = ["list": [.null]]
        #expect(throws: PorticoError.self) { try written(value, accept, isDone: false) }
        let response = try written(value, accept, isDone: true)
        #expect(response.status == .created)
        #expect(response.headers[.contentType] == "application/json")
        #expect(response.headers[.eTag] == "\"1-json\"")
        #expect(try JSONFormat().read(response.body) == value)
    }

    @Test func `what JSON cannot carry either is told as CBOR, and the rest without a body`() throws {
        let response = try written(["list": [.null, .double(.nan)]], .plist, isDone: true)
        #expect(response.headers[.contentType] == "application/cbor")
        let last = try written(["list": [.null, .uid(1)]], .plist, isDone: true)
        #expect(last.status == .created)
        #expect(last.body.isEmpty)
    }
}

@Suite struct HeaderFieldsTests {
    @Test(arguments: [1, 99, 100, 101, 1_000, 65_535, 65_536, 70_000])
    func `fields beyond the limit are refused, however many there are`(count: Int) {
        var collected = HeaderFields(HeaderLimits(fields: 100, bytes: 1 << 24))
        var refused = 0
        for number in 0..<count {
            do throws(HeaderFields.Failure) { try collected.append("X-\(number)", "1") } catch { refused += 1 }
        }
        #expect(collected.fields.count == min(count, 100))
        #expect(refused == max(0, count - 100))
    }

    @Test func `bytes beyond the limit are refused, and what is no field`() {
        var collected = HeaderFields(HeaderLimits(fields: 100, bytes: 20))
        #expect(throws: HeaderFields.Failure.tooLarge) { try collected.append("X", String(repeating: "a", count: 16)) }
        #expect(throws: HeaderFields.Failure.invalid) { try collected.append("a b", "") }
        #expect(throws: HeaderFields.Failure.invalid) { try collected.append("a", "\n") }
        #expect(throws: HeaderFields.Failure.invalid) { try collected.append(":path", "/") }
        #expect(throws: Never.self) { try collected.append("X", String(repeating: "a", count: 15)) }
        #expect(throws: HeaderFields.Failure.tooLarge) { try collected.append("", "") }
    }
}

private struct Epoch: WallClock {
    func now() -> WireDate { WireDate(secondsSince1970: 0) }
}
