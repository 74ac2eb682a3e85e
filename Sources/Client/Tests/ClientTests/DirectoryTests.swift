import Testing
import ValueTree

@testable import Client

/// The directories of employees and users, against a server that a test makes up.
@Suite("Directories")
struct DirectoryTests {
    private func session(
        _ answer: @escaping @Sendable (TransportRequest) async throws -> TransportResponse
    ) async throws -> (Session, ScriptedTransport) {
        let transport = ScriptedTransport { request in
            if request.url.hasSuffix("/auth/login") {
                return try .value([
                    "accessToken": "a", "refreshToken": "r", "expiresIn": 900,
                    "user": ["id": "7", "name": "alice", "roles": []],
                ])
            }
            return try await answer(request)
        }
        let session = Session(
            server: ServerAddress("http://gateway.example")!, transport: transport, storage: CredentialsInMemory(),
            now: { 1_000 })
        try await session.signIn(name: "alice", password: "right")
        return (session, transport)
    }

    @Test("find employees by the criteria of the historical application")
    func employees() async throws {
        let (session, transport) = try await session { _ in
            try .value([
                "employees": [
                    [
                        "firstName": "Ann", "lastName": "Ash", "division": "East", "email": "a@a.example",
                        "phoneNumber": "",
                    ]
                ], "totalRows": 41, "pageIndex": 2, "rowsPerPage": 20,
            ])
        }
        let page = try await EmployeeDirectory(session).search(
            name: "an", division: "East", order: .byDivisionDescending, page: 2)
        #expect(
            page.employees == [Employee(firstName: "Ann", lastName: "Ash", division: "East", email: "a@a.example")])
        #expect(page.totalRows == 41 && page.pageIndex == 2 && page.rowsPerPage == 20 && page.age == nil)
        let asked = try #require(transport.requests(at: "/OrganizationInterfaceImplMobile/employeeSearch").first)
        #expect(
            asked.method == "POST"
                && asked.value == [
                    "fullName": "an", "division": "East", "order": "DESC", "pageIndex": 2, "rowsPerPage": 20,
                ], "\(asked.value)")
    }

    @Test("have users, each with details by its number")
    func users() async throws {
        let (session, _) = try await session { request in
            if request.url.hasSuffix("/v2/list") {
                return try .value(["entry": [["UserId": 101, "UserName": "Ann"], ["UserId": 102, "UserName": "Bob"]]])
            }
            guard request.url.hasSuffix("/v2/102") else { return try .refused(404, "record.notFound") }
            return try .value(["UserId": 102, "UserName": "Bob", "ShoeSize": "8.5M"])
        }
        let users = UserDirectory(session)
        #expect(
            try await users.list() == [
                UserDirectory.Entry(id: 101, name: "Ann"), UserDirectory.Entry(id: 102, name: "Bob"),
            ])
        #expect(try await users.user(102) == UserDirectory.User(id: 102, name: "Bob", shoeSize: "8.5M"))
        let error = await #expect(throws: ClientError.self) { try await users.user(7) }
        guard case .refused(let refusal)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.code == "record.notFound" && refusal.status == 404)
    }
}
