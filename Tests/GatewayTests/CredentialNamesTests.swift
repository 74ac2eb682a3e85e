import AdapterKit
import Crypto
import Identity
import Testing

@testable import Gateway

@Suite struct CredentialNamesTests {
    private let names = CredentialNames()

    /// Whether the field had to be read.
    private func isRead(_ field: String) -> Bool {
        var wasRead = false
        let name = names.name(of: field) { field in
            wasRead = true
            return Self.name(field)
        }
        #expect(name?.key == Self.name(field).key)
        return wasRead
    }

    private static func name(_ field: String) -> CredentialNames.Name {
        let keyed = HMAC<SHA256>(key: SymmetricKey(data: [1, 2, 3]))
        return .init(key: CredentialKey(.accessToken, [Secret(field)], keyed: keyed), sessionCookie: nil)
    }

    @Test func `a field is read once, and another is another`() {
        #expect(isRead("a") && !isRead("a") && isRead("b") && !isRead("a") && !isRead("b"))
    }

    @Test func `what is no credential, or is long, is not remembered`() {
        for _ in 0..<2 { #expect(names.name(of: "x") { _ in nil } == nil) }
        #expect(isRead("x"))
        let long = String(repeating: "a", count: CredentialNames.longest + 1)
        #expect(isRead(long) && isRead(long))
    }

    @Test func `as many as fit are remembered, and those that are used stay`() {
        #expect(isRead("used"))
        for number in 0..<(2 * CredentialNames.capacity) {
            #expect(isRead("\(number)"))
            #expect(!isRead("used"))
        }
        #expect(isRead("0"))
    }
}
