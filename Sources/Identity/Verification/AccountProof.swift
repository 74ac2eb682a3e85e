import AdapterKit

/// Proof that a person is an account's owner, without a session of callers: for sign-ins that are kept elsewhere.
///
/// It ends with the account, its password and its state.
public struct AccountProof: Sendable, Hashable {
    public let account: AccountID
    let credentialVersion: Int64
}
