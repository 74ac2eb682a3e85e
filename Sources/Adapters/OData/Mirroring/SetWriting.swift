import AdapterKit
import ODataEngine
import ODataModel
import Synchronization
import WireFormats

/// The token that an SAP gateway wants with each change, with the cookies that came with it: they belong together.
///
/// Fetched before the first change, and again after a refusal that asks for it. A service of version 4, and one that is asked in
/// callers' names, is given one only after such a refusal: a portal's sign-ins have tokens of their own. Each caller has a pair
/// of its own then.
final class WriteSession: Sendable {
    fileprivate struct Pair: Sendable, Equatable {
        let token: String
        let cookies: String
    }

    /// As of a portal's: longer ones are none of a gateway's.
    private static let longestToken = 4_096

    let exchange: EntityExchange
    private let known: KnownPair

    init(_ exchange: EntityExchange) {
        self.exchange = exchange
        known = KnownPair()
    }

    fileprivate init(_ exchange: EntityExchange, _ known: KnownPair) {
        self.exchange = exchange
        self.known = known
    }

    /// The pair that changes in one name have, of which there may be several at once.
    fileprivate final class KnownPair: Sendable {
        let value = Mutex<Pair?>(nil)
    }

    /// Sends a change, a second time where the first one was refused for want of a token, which says that nothing was done.
    /// Throws what ``MirrorWriteResult/init(_:)`` understands.
    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        var pair = known.value.withLock { $0 }
        if pair == nil, exchange.upstream.version != .version4, !exchange.called.actsForCallers {
            pair = try await fetch()
        }
        let response = try await exchange.send(Self.with(pair, request))
        guard Self.needsToken(response) else { return response }
        known.value.withLock { if $0 == pair { $0 = nil } }
        guard let fresh = try await fetch() else { return response }
        return try await exchange.send(Self.with(fresh, request))
    }

    static func needsToken(_ response: UpstreamResponse) -> Bool {
        response.status == 403 && response.fields["X-CSRF-Token"]?.lowercased() == "required"
    }

    private static func with(_ pair: Pair?, _ request: UpstreamRequest) -> UpstreamRequest {
        guard let pair else { return request }
        var request = request
        request.fields["X-CSRF-Token"] = pair.token
        if !pair.cookies.isEmpty { request.fields["Cookie"] = pair.cookies }
        return request
    }

    /// Nil for a service that has no tokens. Throws `adapter.unavailable` where it cannot be asked for one: nothing was sent then.
    private func fetch() async throws -> Pair? {
        let address = try exchange.address("", [])
        var request = UpstreamRequest(.get, address, fields: exchange.fields)
        request.fields["X-CSRF-Token"] = "Fetch"
        let response: UpstreamResponse
        do { response = try await exchange.send(request) } catch let failure as UpstreamFailure
            where failure.kind == .signInRequired
        {
            throw failure
        } catch {
            throw PorticoError(
                .adapterUnavailable, "The system \(exchange.called.name) gives no token.", logDetail: "\(error)")
        }
        guard response.isSuccess, !(response.fields["Content-Type"] ?? "").lowercased().contains("html") else {
            throw PorticoError(
                .adapterUnavailable, "The system \(exchange.called.name) gives no token.",
                logDetail: "\(address.logged) answered \(response.status)")
        }
        guard let token = response.fields["X-CSRF-Token"], token.lowercased() != "required" else { return nil }
        guard token.utf8.count <= Self.longestToken else {
            throw PorticoError(
                .adapterUnavailable, "The system \(exchange.called.name) gives no token.",
                logDetail: "\(address.logged) answered a token of more than \(Self.longestToken) bytes")
        }
        let cookies = response.fields.values("Set-Cookie").map { $0.prefix { $0 != ";" } }.joined(separator: "; ")
        let pair = Pair(token: token, cookies: cookies)
        known.value.withLock { $0 = pair }
        return pair
    }
}

/// Sessions of changes that are made in callers' names.
final class CallersWriteSessions: Sendable {
    /// Sign-ins whose pairs are kept; one more begins anew, for all.
    private static let most = 1_000

    private let known = Mutex<[String: WriteSession.KnownPair]>([:])

    /// `owner`: the sign-in with its roles, whose pair is no other caller's; nil: the pair is kept for this change alone.
    func session(_ exchange: EntityExchange, of owner: String?) -> WriteSession {
        guard let owner else { return WriteSession(exchange) }
        return known.withLock { known in
            if known[owner] == nil {
                if known.count >= Self.most { known = [:] }
                known[owner] = WriteSession.KnownPair()
            }
            return known[owner].map { WriteSession(exchange, $0) } ?? WriteSession(exchange)
        }
    }

    /// The other system takes the sign-in no longer.
    func forget(_ owner: String) { known.withLock { $0[owner] = nil } }
}

extension SetSource {
    /// What the system has of one entity.
    func record(_ id: RecordID) async throws -> MirrorRecord {
        try await current(id).map { .found($0.row) } ?? .absent
    }

    /// Nil: there is none.
    private func current(_ id: RecordID) async throws -> (row: WireDictionary, tag: String?)? {
        let response = try await exchange.read(try address(of: id), nil)
        if response.status == 404 || response.status == 410 { return nil }
        let document = try exchange.document(response)
        let entity = upstream.version == .version4 ? document : document["d"] ?? .null
        guard let row = rows.row(entity), rows.id(of: row) == id else {
            throw MirrorRefusal(.unexpected, "the answer has another entity than the one that was asked for")
        }
        return (
            row,
            response.fields["ETag"] ?? entity["__metadata"]?["etag"]?.stringValue ?? entity["@odata.etag"]?.stringValue
        )
    }

    private func address(of id: RecordID) throws -> UpstreamAddress {
        try exchange.address(try exchange.path(of: id, in: table, service.model), [])
    }

    /// Makes one change.
    ///
    /// What is not a creation begins with the entity as the system has it now, whose `ETag` is the change's condition.
    ///
    /// - Parameter holds: Whether it may be made of an entity with this tag.
    func write(
        _ change: MirrorChange, where holds: (String?) -> Bool = { _ in true }
    ) async throws -> MirrorWriteResult {
        let isNew = change.operation == .create || (change.operation == .replace && change.before == nil)
        var tag: String?
        if !isNew {
            do {
                guard let known = try await current(change.id) else {
                    return change.operation == .delete
                        ? .stored(nil) : .refused(.recordNotFound, "The system \(upstream.name) has no such entity.")
                }
                if let refusal = change.refusal(
                    over: known.row, service.tables.fields(of: table), in: upstream.name)
                {
                    return refusal
                }
                guard holds(known.tag) else {
                    return .refused(.preconditionFailed, WriteConditions.failed.message)
                }
                tag = known.tag
            } catch let failure as UpstreamFailure where failure.kind == .signInRequired {
                throw failure
            } catch let refusal as MirrorRefusal where refusal.kind == .loginPage && exchange.called.actsForCallers {
                throw UpstreamFailure(.signInRequired, of: upstream.name, detail: refusal.detail)
            } catch {
                // Nothing of the change was sent.
                return .notMade("the entity could not be read before the change: \(error)")
            }
        }
        var request: UpstreamRequest
        switch change.operation {
        case .delete: request = UpstreamRequest(.delete, try address(of: change.id), fields: exchange.fields)
        case .replace where !isNew:
            request = UpstreamRequest(.put, try address(of: change.id), fields: exchange.fields)
        case .update:
            request = UpstreamRequest(.patch, try address(of: change.id), fields: exchange.fields)
            // Version 2 has a method of its own, which goes through everything as `POST`.
            if upstream.version == .version2 {
                request.method = .post
                request.fields["X-HTTP-Method"] = "MERGE"
            }
        case .create, .replace:
            request = UpstreamRequest(.post, try exchange.address(table.source, []), fields: exchange.fields)
        }
        if change.operation != .delete {
            let body = SentEntity(table: table, model: service.model, version: upstream.version)
            guard let value = body.value(of: change.fields, isNew: isNew), let bytes = try? JSONFormat().write(value)
            else {
                return .refused(
                    .requestInvalid, "The change has values that the system \(upstream.name) cannot be sent.")
            }
            request.body = bytes
            request.fields["Content-Type"] = exchange.contentType
            if upstream.version == .version4 { request.fields["Prefer"] = "return=representation" }
        }
        if let tag { request.fields["If-Match"] = tag }
        request.fields["Idempotency-Key"] = change.idempotencyKey
        request.isIdempotent = change.mayRepeat
        let response = try await session.send(request)
        guard !WriteSession.needsToken(response) else { return .notMade("the system refuses its own token") }
        if change.operation == .delete, response.status == 404 || response.status == 410 { return .stored(nil) }
        let result = MirrorWriteResult(response, to: change, of: upstream.name).quoting(
            ODataFailure.words(of: response))
        guard case .stored = result else { return result }
        return try stored(response, change, isNew: isNew)
    }

    /// What a success says of the change. A page that says 200 is none.
    private func stored(_ response: UpstreamResponse, _ change: MirrorChange, isNew: Bool) throws -> MirrorWriteResult {
        let type = (response.fields["Content-Type"] ?? "").lowercased()
        guard !type.contains("html") else { return .unknown("\(response.address.logged) answered a page") }
        guard change.operation != .delete else { return .stored(nil) }
        if !response.body.isEmpty, type.contains("json"), let document = try? JSONFormat().read(response.body) {
            let entity = upstream.version == .version4 ? document : document["d"] ?? .null
            guard let row = rows.row(entity), let id = rows.id(of: row) else {
                return .unknown("the answer to the change has no entity")
            }
            guard isNew || id == change.id else { return .unknown("the answer to the change has another entity") }
            return .stored(row)
        }
        guard isNew else { return .stored(nil) }
        guard response.body.isEmpty else { return .unknown("the answer to the change has no entity") }
        // Which key the system has chosen.
        let place = response.fields["OData-EntityId"] ?? response.fields["DataServiceId"] ?? response.fields["Location"]
        let id = place.flatMap { exchange.id(of: $0, in: table, service.tables, service.limits.language) }
        return .stored(id.map { table.keyFields(of: $0, form: StoredValueCodec(model: service.model)) })
    }
}

/// The system's own words about what it refused.
enum ODataFailure {
    /// Code and message of an error of either version, in JSON or XML; nil: it says nothing that can be shown.
    static func words(of response: UpstreamResponse) -> String? {
        let type = response.fields["Content-Type"] ?? ""
        guard response.body.count <= 64 << 10 else { return nil }
        if type.mediaTypeName.hasSuffix("xml"), let error = try? XMLElement(xml: response.body) {
            return words(
                error.children.first { $0.name == "code" }?.text, error.children.first { $0.name == "message" }?.text)
        }
        guard type.mediaTypeName.hasSuffix("json"), let error = (try? JSONFormat().read(response.body))?["error"] else {
            return ErrorText.text(of: response.body, mediaType: type)
        }
        let message = error["message"]
        return words(error["code"]?.stringValue, message?["value"]?.stringValue ?? message?.stringValue)
    }

    private static func words(_ code: String?, _ message: String?) -> String? {
        let parts = [code, message].compactMap { $0 }.filter { !$0.allSatisfy(\.isWhitespace) }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }
}

/// An entity as it is sent.
struct SentEntity: Sendable {
    let table: RecordTable
    let model: EntityDataModel
    let version: ServableModel.Version

    /// Nil where a value has no form. What the system sets itself is not sent, nor what is given once and for all where the
    /// entity is there.
    func value(of fields: WireDictionary, isNew: Bool) -> WireValue? {
        var members = WireDictionary()
        let named = table.discriminator.flatMap { fields[$0.text]?.stringValue }.flatMap { QualifiedName($0) }
        let type = named.flatMap { model.structured($0) } ?? table.type
        for property in type.properties {
            guard let column = table.columns[property.name], let value = fields[column.field.text],
                !property.annotations.isTagged(CoreTerm.computed)
            else { continue }
            if !isNew, type.isKey(property.name) || property.annotations.isTagged(CoreTerm.immutable) { continue }
            // A structure without members is the other system's to make.
            if isNew, value.isNull { continue }
            if isNew, !column.type.isNullable, value.dictionaryValue?.isEmpty ?? false { continue }
            guard let sent = sent(value, column.type) else { return nil }
            members[property.name] = sent
        }
        if let dynamic = table.dynamicField.flatMap({ fields[$0.text]?.dictionaryValue }) {
            for member in dynamic { members[member.key] = member.value }
        }
        name(type, in: &members, unless: table.type.name)
        return .dictionary(members)
    }

    /// A type that is another than the declared one.
    private func name(_ type: StructuredType, in members: inout WireDictionary, unless declared: QualifiedName) {
        guard type.name != declared else { return }
        if version == .version4 {
            members["@odata.type"] = .string("#\(type.name)")
        } else {
            members["__metadata"] = ["type": .string("\(type.name)")]
        }
    }

    private func sent(_ value: WireValue, _ type: TypeReference) -> WireValue? {
        if value.isNull { return .null }
        if type.isCollection {
            guard let items = value.arrayValue else { return nil }
            let all = items.compactMap { sent($0, type.item) }
            return all.count == items.count ? .array(all) : nil
        }
        if case .complex(let name) = type.type {
            guard let members = value.dictionaryValue else { return nil }
            let actual = members["@type"]?.stringValue.flatMap { QualifiedName($0) } ?? name
            guard let type = model.structured(actual) else { return nil }
            var sentMembers = WireDictionary()
            for property in type.properties {
                guard let member = members[property.name] else { continue }
                guard let value = sent(member, property.type) else { return nil }
                sentMembers[property.name] = value
            }
            self.name(type, in: &sentMembers, unless: name)
            return .dictionary(sentMembers)
        }
        return version == .version4 ? version4(value, type) : version2(value, type)
    }

    private func version2(_ value: WireValue, _ type: TypeReference) -> WireValue? {
        switch Version2ValueCodec(model: model).json(value, type) {
        case .text(let text): .string(text)
        case .plain(let text): (try? JSONFormat().read(Array(text.utf8)))
        case nil: nil
        }
    }

    private func version4(_ value: WireValue, _ type: TypeReference) -> WireValue? {
        switch model.primitive(behind: type.type) {
        case .boolean, .byte, .sByte, .int16, .int32, .int64:
            if case .enumeration = type.type { break }
            return value
        case .decimal: return value
        case .double, .single: if value.doubleValue?.isFinite ?? false { return value }
        case let primitive? where primitive.isSpatial: return value
        default: break
        }
        return StoredValueCodec(model: model).text(of: value, type: type).map(WireValue.string)
    }
}
