#if canImport(Security)
    import Foundation
    import Security

    /// Keeps credentials in the keychain of the device, where they are readable after its first unlocking and never leave
    /// it with a backup.
    public struct CredentialKeychain: CredentialStorage {
        private let service: String

        /// - Parameter service: distinguishes sign-ins, such as the app's name and the server's.
        public init(service: String) {
            self.service = service
        }

        private var item: [CFString: Any] {
            [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "portico"]
        }

        public func load() throws -> StoredCredentials? {
            var found: CFTypeRef?
            let query = item.merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 }
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            try check(status)
            return (found as? Data).flatMap { StoredCredentials(bytes: [UInt8]($0)) }
        }

        public func save(_ credentials: StoredCredentials) throws {
            let content: [CFString: Any] = [
                kSecValueData: Data(credentials.bytes),
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            let status = SecItemUpdate(item as CFDictionary, content as CFDictionary)
            guard status == errSecItemNotFound else { return try check(status) }
            try check(SecItemAdd(item.merging(content) { $1 } as CFDictionary, nil))
        }

        public func delete() throws {
            let status = SecItemDelete(item as CFDictionary)
            if status != errSecItemNotFound { try check(status) }
        }

        private func check(_ status: OSStatus) throws {
            guard status == errSecSuccess else {
                throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
            }
        }
    }
#endif
