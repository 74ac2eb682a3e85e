import AdapterKit
import AdapterTesting
import Testing
import WorkerTesting
import XMLUsers

@Suite struct `Users` {
    private func host() async throws -> TestHost {
        try await TestHost(XMLUsersModule.self, withSamples: true)
    }

    private func entries(_ operation: OperationName) async throws -> [WireValue] {
        try await host().value(operation)["entry"]?.arrayValue ?? []
    }

    @Test(arguments: Mode.allCases) func `the adapter conforms`(mode: Mode) async {
        let conformance = AdapterConformance(
            mode.module(XMLUsersModule.self),
            examples: [
                .init("list"), .init("list-v1"), .init("user", ["userId": 101]), .init("schema"),
                .init("import", ["rows": [["UserId": 7, "UserName": "Seven", "ShoeSize": "7M"]]]),
            ])
        #expect(await conformance.problems() == [])
    }

    @Test func `the contract's fixtures are among the samples`() async throws {
        let host = try await host()
        #expect(
            try await host.value("user", ["userId": 100])
                == ["UserId": 100, "UserName": "Fake 1", "ShoeSize": "8.5M"])
        #expect(
            try await host.value("user", ["userId": 101]) == ["UserId": 101, "UserName": "Fake 2", "ShoeSize": "12W"])
    }

    @Test func `version 2 lists numbers and names, in the order of the numbers`() async throws {
        let entries = try await entries("list")
        #expect(entries.count == 500)
        #expect(entries.first == ["UserId": 100, "UserName": "Fake 1"])
        #expect(entries.last == ["UserId": 599, "UserName": "A&B ‹é>"])
        let numbers = entries.compactMap { $0["UserId"]?.int64Value }
        #expect(numbers == numbers.sorted())
    }

    @Test func `version 1 lists all fields`() async throws {
        #expect(try await entries("list-v1").first == ["UserId": 100, "UserName": "Fake 1", "ShoeSize": "8.5M"])
    }

    @Test func `a list is whole however many pages the store makes of it`() async throws {
        let host = try await TestHost(XMLUsersModule.self)
        let changes = (1...2_345).map { number in
            RecordChange(
                "users",
                .create(nil, ["UserId": .int64(number), "UserName": .string("User \(number)"), "ShoeSize": "9N"]))
        }
        _ = try await host.records.unrestricted.apply(changes)
        #expect(try await host.value("list")["entry"]?.arrayValue?.count == 2_345)
    }

    @Test(arguments: [999, 0, -1, Int64.max])
    func `an unknown number is not found`(number: Int64) async throws {
        let host = try await host()
        let error = try await refusal { try await host.call("user", ["userId": .int64(number)]) }
        #expect(error?.code == .recordNotFound)
    }

    @Test func `a number that is none is refused`() async throws {
        let host = try await host()
        let error = try await refusal { try await host.call("user", ["userId": "abc"]) }
        #expect(error?.code == .requestInvalid)
        #expect(error?.target == "userId")
    }

    @Test func `details are answered at both paths, version 2 beside version 1`() throws {
        let declaration = try XMLUsersModule.declare(AdapterConfiguration())
        let paths = declaration.operations.flatMap(\.bindings).map { "\($0.method.rawValue) \($0.path)" }
        #expect(
            Set(paths) == [
                "GET /v1/list", "GET /v2/list", "GET /v2/{userId}", "GET /v2/user/{userId}", "GET /v2/schema.xsd",
            ])
    }
}
