import AdapterKit
import HTTPTypes
import MirrorEngine
import RecordStorage
import SyncEngine

extension ServedAdapter {
    /// The records as the caller may see and change them; the only way in which a request reaches them. Throws
    /// `request.invalid` for a change of a mirror whose `Idempotency-Key` cannot be one. `isLetWrite`: what is called has let the
    /// caller write by an access of its own, so that only what single entities say of their writers holds besides.
    func records(
        in store: any Store, for request: AuthenticatedRequest, naming rights: AttachmentRights?,
        auditing changes: ChangeAudit? = nil, isLetWrite: Bool = false
    ) throws(PorticoError) -> AdapterRecords {
        AdapterRecords(
            store: store, declaration: isLetWrite ? declaration : deciding, principal: request.caller.principal,
            attachments: rights?.authorization(of: request.caller.syncing),
            origin: writes.isEmpty ? WriteOrigin() : try WriteOrigin(request.request),
            through: writes.isEmpty ? nil : AdapterWriteThrough(writes: writes),
            observer: changes?.observer(of: declaration, for: request),
            confirmation: ChangeConfirmation(request: request.request), preparation: request.mirrors)
    }
}

extension WriteOrigin {
    private static let longestKey = 200

    /// The caller's own `Idempotency-Key`, where it sends one. A colon is refused: the keys of devices' changes have one.
    init(_ request: GatewayRequest) throws(PorticoError) {
        guard let key = request.headers[.idempotencyKey] else {
            self.init()
            return
        }
        let isKey =
            (1...Self.longestKey).contains(key.utf8.count)
            && key.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
        guard isKey else {
            throw PorticoError(
                .requestInvalid, "An Idempotency-Key has 1 to 200 visible ASCII characters and no colon.",
                target: "Idempotency-Key")
        }
        self.init(idempotencyKey: key)
    }
}

extension HTTPField.Name {
    fileprivate static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
