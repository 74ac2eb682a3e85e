import AdapterKit
import Foundation
import GRDB
import Synchronization
import WireFormats

/// An SAP Gateway (OData 2.0) behind a portal and a supplier's OData 4.0 service, over the same rows: what they answer is SQL.
///
/// From any thread. The rows are made when they are first asked for.
final class AdmissionsService: Sendable {
    struct Settings: Sendable {
        var students = 1_000
        /// Entities of one page.
        var pageSize = 1_000
        /// Whether SAP's paths need the portal's cookie.
        var requiresSignIn = false
        var seed: UInt64 = 1
        /// Distinguishes this run's tokens from those of others.
        var run = "0"
    }

    typealias Documents = AdmissionsDocuments

    /// Of the portal and of SAP's gateway.
    private struct Sessions {
        /// CSRF tokens by the session's cookie: they belong together.
        var tokens: [String: String] = [:]
        /// Values of the portal's cookie.
        var signedIn: Set<String> = []
        var last = 0
    }

    /// So many sessions are remembered.
    private static let mostSessions = 10_000
    static let cookie = "SAP_SESSIONID_ABC_001"
    static let portalCookie = "MYSAPSSO2"
    static let version2Root = "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/"
    static let version4Root = "/odata/v4/admissions/"
    private static let portal = "/irj/portal"
    /// Where a sign-in leads.
    private static let home = "/irj/home"

    let settings: Settings
    private let made: Mutex<AdmissionsRows?>
    private let sessions = Mutex(Sessions())

    init(_ settings: Settings) {
        self.settings = settings
        made = Mutex(nil)
    }

    func rows() throws -> AdmissionsRows {
        try made.withLock { made in
            if let made { return made }
            let rows = try AdmissionsRows(students: settings.students, seed: settings.seed)
            made = rows
            return rows
        }
    }

    /// Ends every session of the portal, and the gateway's with their tokens.
    func endSessions() { sessions.withLock { $0 = Sessions(last: $0.last) } }

    /// Whether a path is one of the services' or the portal's.
    static func isAt(_ path: String) -> Bool { version(path) != nil || path == portal || path == home }

    private static func version(_ path: String) -> Documents.Version? {
        if path.hasPrefix(version2Root) { return .version2 }
        return path.hasPrefix(version4Root) ? .version4 : nil
    }

    /// Whether the request would change rows.
    static func isWrite(_ request: ServiceRequest) -> Bool { !request.isRead && version(request.path) != nil }

    func respond(to request: ServiceRequest) -> ServiceResponse {
        guard let version = Self.version(request.path) else { return portalPage(request) }
        do {
            if version == .version2, settings.requiresSignIn, !isSignedIn(request) { return Self.loginForm(200) }
            let root = version == .version2 ? Self.version2Root : Self.version4Root
            let isExact = request["Accept"]?.contains("IEEE754Compatible=true") ?? false
            let documents = Documents(
                version: version, root: "http://\(request["Host"] ?? "localhost")\(root)", isIEEE754Compatible: isExact)
            var response = try AdmissionsRequest(request, documents, root: root, service: self).response()
            if version == .version4 { response.fields["OData-Version"] = "4.0" }
            if version == .version2 {
                response.fields["DataServiceVersion"] = "2.0"
                if request["X-CSRF-Token"]?.lowercased() == "fetch" { addToken(to: &response, for: request) }
            }
            return response
        } catch let error as ServiceError {
            return Self.response(error, version, request)
        } catch {
            return Self.response(
                ServiceError(status: 500, code: "internal", message: "\(error)"), version, request)
        }
    }

    /// An error in the service's own shape.
    static func response(_ error: ServiceError, to request: ServiceRequest) -> ServiceResponse? {
        version(request.path).map { response(error, $0, request) }
    }

    private static func response(
        _ error: ServiceError, _ version: Documents.Version, _ request: ServiceRequest
    ) -> ServiceResponse {
        guard version == .version2 else {
            return .json(
                ["error": ["code": .string(error.code), "message": .string(error.message)]], status: error.status,
                fields: error.fields)
        }
        guard request["Accept"]?.contains("json") ?? false || request["Content-Type"]?.contains("json") ?? false else {
            let text = """
                <?xml version="1.0" encoding="utf-8"?><error \
                xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">\
                <code>\(error.code.escapedForXML)</code>\
                <message xml:lang="en">\(error.message.escapedForXML)</message></error>
                """
            return ServiceResponse(
                error.status, contentType: "application/xml", fields: error.fields, body: Array(text.utf8))
        }
        return .json(
            [
                "error": [
                    "code": .string(error.code), "message": ["lang": "en", "value": .string(error.message)],
                    "innererror": ["transactionid": "0", "errordetails": []],
                ]
            ], status: error.status, fields: error.fields)
    }
}

// MARK: Sessions

extension AdmissionsService {
    private func portalPage(_ request: ServiceRequest) -> ServiceResponse {
        if request.path == Self.home, isSignedIn(request) {
            return ServiceResponse(
                200, contentType: "text/html; charset=utf-8", body: Array("<!DOCTYPE html><title>Home</title>\n".utf8))
        }
        guard request.method == "POST" else { return Self.loginForm(200) }
        let form = ServiceRequest(method: "GET", target: "/?" + String(decoding: request.body, as: UTF8.self))
        guard let user = form?.query["j_user"] ?? form?.query["j_username"], !user.isEmpty,
            form?.query["j_password"] == "portico-demo"
        else { return Self.loginForm(200) }
        let session = sessions.withLock { sessions in
            sessions.last += 1
            let session = "\(settings.run)p\(sessions.last)"
            if sessions.signedIn.count >= Self.mostSessions { sessions.signedIn = [] }
            sessions.signedIn.insert(session)
            return session
        }
        // On the way to where the sign-in leads, as portals have it.
        return ServiceResponse(
            302, contentType: "text/html",
            fields: [
                "Location": Self.home, "Set-Cookie": "\(Self.portalCookie)=\(session); Path=/; HttpOnly",
            ])
    }

    private static func loginForm(_ status: Int) -> ServiceResponse {
        ServiceResponse(
            status, contentType: "text/html; charset=utf-8",
            body: Array(
                """
                <!DOCTYPE html><title>Sign in</title><form method="post" action="\(portal)">
                <input name="j_user"><input type="password" name="j_password"><button>Sign in</button></form>

                """.utf8))
    }

    private func isSignedIn(_ request: ServiceRequest) -> Bool {
        guard let session = Self.cookie(Self.portalCookie, of: request) else { return false }
        return sessions.withLock { $0.signedIn.contains(session) }
    }

    private static func cookie(_ name: String, of request: ServiceRequest) -> String? {
        for pair in (request["Cookie"] ?? "").split(separator: ";") {
            let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if halves.count == 2, halves[0] == name { return String(halves[1]) }
        }
        return nil
    }

    private func addToken(to response: inout ServiceResponse, for request: ServiceRequest) {
        let known = Self.cookie(Self.cookie, of: request)
        let (session, token) = sessions.withLock { sessions in
            if let known, let token = sessions.tokens[known] { return (known, token) }
            sessions.last += 1
            let session = "\(settings.run)s\(sessions.last)"
            if sessions.tokens.count >= Self.mostSessions { sessions.tokens = [:] }
            sessions.tokens[session] = "\(settings.run)t\(sessions.last)"
            return (session, "\(settings.run)t\(sessions.last)")
        }
        response.fields["X-CSRF-Token"] = token
        if session != known { response.fields["Set-Cookie"] = "\(Self.cookie)=\(session); Path=/; HttpOnly" }
    }

    /// Throws 403 with `Required` for a write without the token that its session's cookie belongs to.
    fileprivate func checkToken(_ request: ServiceRequest) throws(ServiceError) {
        let token = Self.cookie(Self.cookie, of: request).flatMap { session in
            sessions.withLock { $0.tokens[session] }
        }
        guard let token, request["X-CSRF-Token"] == token else {
            throw ServiceError(
                status: 403, code: "csrf", message: "CSRF token validation failed",
                fields: ["X-CSRF-Token": "Required"])
        }
    }
}

/// One request of one of the services.
struct AdmissionsRequest {
    let request: ServiceRequest
    let documents: AdmissionsDocuments
    let service: AdmissionsService
    /// Below the root.
    let segments: [Substring]
    var isVersion2: Bool { documents.version == .version2 }

    init(_ request: ServiceRequest, _ documents: AdmissionsDocuments, root: String, service: AdmissionsService) {
        (self.request, self.documents, self.service) = (request, documents, service)
        let path = request.path.dropFirst(root.count)
        segments = path.split(separator: "/").map { Substring($0.removingPercentEncoding ?? String($0)) }
    }

    private var method: String {
        guard request.method == "POST" else { return request.method }
        return (request["X-HTTP-Method"] ?? request["X-HTTP-Method-Override"] ?? "POST").uppercased()
    }

    func response() throws -> ServiceResponse {
        guard request.isRead else { return try write() }
        guard let first = segments.first else { return .json(documents.serviceDocument) }
        if first == "$metadata" {
            return ServiceResponse(200, contentType: "application/xml", body: Array(documents.metadata.utf8))
        }
        let rows = try service.rows()
        if let call = try call() { return try rows.queue.read { try answer(call, $0) } }
        let (table, key) = try target(first)
        return try rows.queue.read { database in
            switch (key, segments.dropFirst().first, segments.count) {
            case (nil, nil, 1): return try collection(table, nil, database)
            case (nil, "$count"?, 2): return try count(table, nil, database)
            case (let key?, nil, 1): return try single(try row(key, table, database), table, database)
            case (let key?, let name?, 2...3):
                guard let navigation = table.navigations.first(where: { $0.name == name }),
                    let target = AdmissionsTable.named(navigation.target, isVersion2: false),
                    segments.count == 2 || segments[2] == "$count"
                else { throw ServiceError.missing("There is no \(name).") }
                let owner = try row(key, table, database)
                if case .one = navigation.kind {
                    guard segments.count == 2,
                        let row = try related(navigation, owner, target, table, database).first
                    else { throw ServiceError.missing("There is no \(name).") }
                    return try single(row, target, database)
                }
                let among = Self.condition(navigation, owner, target, table)
                return segments.count == 3
                    ? try count(target, among, database) : try collection(target, among, database)
            default: throw ServiceError.missing("There is nothing at \(request.path).")
            }
        }
    }

    /// `Students(1)`, `States('MS')`.
    func target(_ segment: Substring) throws(ServiceError) -> (AdmissionsTable, String?) {
        let name = segment.prefix { $0 != "(" }
        guard let table = AdmissionsTable.named(String(name), isVersion2: isVersion2) else {
            throw .missing("Resource not found for segment '\(name)'")
        }
        guard segment.count > name.count else { return (table, nil) }
        guard segment.hasSuffix(")") else { throw .invalid("The key predicate has no end.") }
        var key = segment.dropFirst(name.count + 1).dropLast()
        if key.hasPrefix("\(table.key)=") { key = key.dropFirst(table.key.count + 1) }
        guard let value = try table.keyColumn.argument(literal: key) else { throw .invalid("A key is not null.") }
        return (table, "\(value)")
    }

    func row(_ key: String, _ table: AdmissionsTable, _ database: Database) throws -> Row {
        let sql = "SELECT * FROM \(table.name) WHERE \(table.key) = ?"
        guard let row = try Row.fetchOne(database, sql: sql, arguments: [key]) else {
            throw ServiceError.missing("Resource not found for segment '\(table.type)'")
        }
        return row
    }

    // MARK: Reading

    func option(_ name: String) -> String? { request.query[name] }

    typealias Condition = (sql: String, arguments: [(any DatabaseValueConvertible)?])

    /// `among`: what the rows have in common by the path.
    private func condition(_ table: AdmissionsTable, _ among: Condition?) throws(ServiceError) -> Condition {
        var all = among.map { [$0] } ?? []
        if let text = option("$filter") {
            let filter = try AdmissionsFilter.condition(text, of: table)
            all.append((filter.sql, filter.arguments))
        }
        guard !all.isEmpty else { return ("", []) }
        return (" WHERE \(all.map { "(\($0.sql))" }.joined(separator: " AND "))", all.flatMap(\.arguments))
    }

    func count(
        _ table: AdmissionsTable, _ among: Condition?, _ database: Database
    ) throws -> ServiceResponse {
        let condition = try condition(table, among)
        let count =
            try Int.fetchOne(
                database, sql: "SELECT count(*) FROM \(table.name)\(condition.sql)",
                arguments: StatementArguments(condition.arguments)) ?? 0
        return ServiceResponse(200, contentType: "text/plain", body: Array(String(count).utf8))
    }

    private func order(_ table: AdmissionsTable) throws(ServiceError) -> String {
        var terms: [String] = []
        for item in (option("$orderby") ?? "").split(separator: ",") {
            let words = item.split(separator: " ")
            guard let name = words.first, let column = table.column(String(name)), words.count <= 2,
                words.count == 1 || ["asc", "desc"].contains(words[1])
            else { throw .invalid("There is no order \(item).") }
            let sql = column.isDecimal ? "CAST(\(column.sql) AS REAL)" : column.sql
            terms.append("\(sql) \(words.count == 2 ? words[1].uppercased() : "ASC")")
        }
        return " ORDER BY \((terms + ["\(table.key) ASC"]).joined(separator: ", "))"
    }

    private func selected() -> (own: Set<String>?, nested: [String: Set<String>]) {
        guard let text = option("$select"), text != "*" else { return (nil, [:]) }
        var own: Set<String> = []
        var nested: [String: Set<String>] = [:]
        for name in text.split(separator: ",") {
            let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
            own.insert(parts[0])
            if parts.count == 2 { nested[parts[0], default: []].insert(parts[1]) }
        }
        return (own, nested)
    }

    /// By name, with what version 4 selects of it: `Topics($select=TopicID)`.
    private func expanded(_ table: AdmissionsTable) throws(ServiceError) -> [(AdmissionsTable.Navigation, Set<String>?)]
    {
        var expanded: [(AdmissionsTable.Navigation, Set<String>?)] = []
        let (own, nested) = selected()
        for item in (option("$expand") ?? "").split(separator: ",") {
            let name = item.prefix { $0 != "(" }
            guard let navigation = table.navigations.first(where: { $0.name == name }) else {
                throw .invalid("There is no navigation property \(name).")
            }
            var names = isVersion2 && own != nil ? nested[String(name)] : nil
            if let match = item.firstMatch(of: /\(\$select=([A-Za-z;]+)\)$/) { names = [String(match.1)] }
            expanded.append((navigation, names))
        }
        return expanded
    }

    private static func condition(
        _ navigation: AdmissionsTable.Navigation, _ row: Row, _ target: AdmissionsTable, _ table: AdmissionsTable
    ) -> Condition {
        switch navigation.kind {
        case .one(let column): ("\(target.key) = ?", [row[column] as DatabaseValue])
        case .many(let column): ("\(column) = ?", [row[table.key] as DatabaseValue])
        case .linked(let pairs, let near, let far):
            (
                "\(target.key) IN (SELECT \(far) FROM \(pairs) WHERE \(near) = ?)",
                [row[table.key] as DatabaseValue]
            )
        }
    }

    private func related(
        _ navigation: AdmissionsTable.Navigation, _ row: Row, _ target: AdmissionsTable, _ table: AdmissionsTable,
        _ database: Database
    ) throws -> [Row] {
        let condition = Self.condition(navigation, row, target, table)
        return try Row.fetchAll(
            database, sql: "SELECT * FROM \(target.name) WHERE \(condition.sql) ORDER BY \(target.key)",
            arguments: StatementArguments(condition.arguments))
    }

    private func entity(_ row: Row, _ table: AdmissionsTable, _ database: Database) throws -> WireDictionary {
        var entity = documents.entity(row, table, selected().own)
        for (navigation, names) in try expanded(table) {
            guard let target = AdmissionsTable.named(navigation.target, isVersion2: false) else { continue }
            let others = try related(navigation, row, target, table, database).map { other in
                WireValue.dictionary(documents.entity(other, target, names))
            }
            if case .one = navigation.kind {
                entity[navigation.name] = others.first ?? .null
            } else {
                entity[navigation.name] = isVersion2 ? ["results": .array(others)] : .array(others)
            }
        }
        return entity
    }

    func single(_ row: Row, _ table: AdmissionsTable, _ database: Database) throws -> ServiceResponse {
        var entity = try entity(row, table, database)
        let fields = ["ETag": AdmissionsDocuments.tag(row)]
        if isVersion2 { return .json(["d": .dictionary(entity)], fields: fields) }
        entity["@odata.context"] = .string("\(documents.root)$metadata#\(table.name)/$entity")
        return .json(.dictionary(entity), fields: fields)
    }

    /// What stands first in `Accept` is preferred; without either, JSON.
    private var wantsAtom: Bool {
        guard isVersion2, let accept = request["Accept"], option("$format") != "json",
            let atom = accept.range(of: "atom+xml")
        else { return false }
        return accept.range(of: "json").map { atom.lowerBound < $0.lowerBound } ?? true
    }

    private var tracksChanges: Bool {
        guard !isVersion2 else { return option("$filter") == nil && option("$top") == nil && option("$skip") == nil }
        return request["Prefer"]?.contains("odata.track-changes") ?? false
    }

    /// The largest number of rows that a request names.
    private static let farthest = Int(Int32.max)

    /// A page; its token says where it begins, when the first one was read, and whether changes are tracked.
    func collection(
        _ table: AdmissionsTable, _ among: Condition?, _ database: Database
    ) throws -> ServiceResponse {
        if among == nil, let token = option(isVersion2 ? "!deltatoken" : "$deltatoken") {
            return try delta(token, table, database)
        }
        let now = try AdmissionsRows.revision(database)
        let token = (option("$skiptoken") ?? "0-\(now)-\(tracksChanges ? 1 : 0)").split(separator: "-")
        guard token.count == 3, let start = Int(token[0]), (0...Self.farthest).contains(start),
            let revision = Int64(token[1])
        else {
            throw ServiceError.invalid("There is no such page.")
        }
        let tracks = among == nil && token[2] == "1"
        let top = try request.number("$top", in: 0...Self.farthest)
        let skip = try request.number("$skip", in: 0...Self.farthest) ?? 0
        let preferred = request["Prefer"]?.firstMatch(of: /maxpagesize=(\d+)/).flatMap { Int($0.1) }
        let page = max(1, min(service.settings.pageSize, preferred ?? Int.max))
        // What is left of `$top` behind the pages before.
        let wanted = min(page, max(0, (top ?? Int.max) - start))
        let condition = try condition(table, among)
        let sql = "FROM \(table.name)\(condition.sql)"
        let found = try Row.fetchAll(
            database, sql: "SELECT * \(sql)\(try order(table)) LIMIT \(wanted + 1) OFFSET \(skip + start)",
            arguments: StatementArguments(condition.arguments))
        let rows = found.prefix(wanted)
        let isLast = found.count <= wanted || start + wanted >= top ?? Int.max
        var count: Int?
        if option("$inlinecount") == "allpages" || option("$count") == "true" {
            count = try Int.fetchOne(
                database, sql: "SELECT count(*) \(sql)", arguments: StatementArguments(condition.arguments))
        }
        let next =
            isLast ? nil : link(["$skiptoken": "\(start + wanted)-\(revision)-\(token[2])"], table, keepsOptions: true)
        let deltaLink = isLast && tracks ? link(deltaToken(revision), table, keepsOptions: false) : nil
        if wantsAtom {
            return Self.atom(documents.feed(Array(rows), table, next: next, delta: deltaLink))
        }
        let entities = try rows.map { WireValue.dictionary(try entity($0, table, database)) }
        var response = answer(entities, table, count: count, next: next, delta: deltaLink)
        if !isVersion2, tracks { response.fields["Preference-Applied"] = "odata.track-changes" }
        return response
    }

    private func deltaToken(_ revision: Int64) -> [String: String] {
        let token = "\(service.settings.run)_\(revision)"
        return isVersion2 ? ["!deltatoken": "'\(token)'"] : ["$deltatoken": token]
    }

    private static func atom(_ text: String) -> ServiceResponse {
        ServiceResponse(200, contentType: "application/atom+xml;type=feed;charset=utf-8", body: Array(text.utf8))
    }

    /// Version 2's are absolute, version 4's relative.
    private func link(_ more: [String: String], _ table: AdmissionsTable, keepsOptions: Bool) -> String {
        let kept = request.query.filter { option in
            keepsOptions ? option.key != "$skiptoken" : ["$select", "$expand"].contains(option.key)
        }
        let options = kept.merging(more) { $1 }.sorted { $0.key < $1.key }.map { option in
            "\(option.key)=\(option.value.addingPercentEncoding(withAllowedCharacters: .urlHostAllowed) ?? "")"
        }
        let isSet = segments.count == 1 && (try? target(segments[0])) != nil
        let path = isSet ? documents.setName(table) : segments.joined(separator: "/")
        let place = "\(path)?\(options.joined(separator: "&"))"
        return isVersion2 ? documents.root + place : place
    }

    private func answer(
        _ entities: [WireValue], _ table: AdmissionsTable, count: Int? = nil, next: String?, delta: String?,
        isDelta: Bool = false
    ) -> ServiceResponse {
        if isVersion2 {
            var content: WireDictionary = ["results": .array(entities)]
            if let count { content["__count"] = .string(String(count)) }
            if let next { content["__next"] = .string(next) }
            if let delta { content["__delta"] = .string(delta) }
            return .json(["d": .dictionary(content)])
        }
        let suffix = isDelta ? "/$delta" : ""
        var content: WireDictionary = ["@odata.context": .string("\(documents.root)$metadata#\(table.name)\(suffix)")]
        if let count { content["@odata.count"] = .int64(Int64(count)) }
        content["value"] = .array(entities)
        if let next { content["@odata.nextLink"] = .string(next) }
        if let delta { content["@odata.deltaLink"] = .string(delta) }
        return .json(.dictionary(content))
    }

    private func delta(_ token: String, _ table: AdmissionsTable, _ database: Database) throws -> ServiceResponse {
        let plain = isVersion2 ? String(token.dropFirst().dropLast()) : token
        let parts = plain.split(separator: "_")
        guard parts.count == 2, let since = Int64(parts[1]), parts[0] == service.settings.run,
            since <= (try AdmissionsRows.revision(database))
        else { throw ServiceError(status: 410, code: "delta", message: "The delta token is no longer known.") }
        let rows = try Row.fetchAll(
            database, sql: "SELECT * FROM \(table.name) WHERE revision > ? ORDER BY revision", arguments: [since])
        let removed = try String.fetchAll(
            database, sql: "SELECT key FROM Tombstones WHERE name = ? AND revision > ? ORDER BY revision",
            arguments: [table.name, since])
        let next = link(deltaToken(try AdmissionsRows.revision(database)), table, keepsOptions: false)
        if wantsAtom { return Self.atom(documents.feed(rows, table, removed: removed, delta: next)) }
        var entities = try rows.map { WireValue.dictionary(try entity($0, table, database)) }
        if !isVersion2 {
            entities += removed.map { key in
                [
                    "@odata.context": .string("\(documents.root)$metadata#\(table.name)/$deletedEntity"),
                    "id": .string(documents.address(table, key)), "reason": "deleted",
                ]
            }
        }
        return answer(entities, table, next: nil, delta: next, isDelta: true)
    }

    // MARK: Writing

    private func write() throws -> ServiceResponse {
        if isVersion2 { try service.checkToken(request) }
        if let call = try call() { return try service.rows().queue.write { try perform(call, $0) } }
        guard let first = segments.first, segments.count == 1 else {
            throw ServiceError.missing("There is nothing to change at \(request.path).")
        }
        let (table, key) = try target(first)
        let rows = try service.rows()
        return try rows.queue.write { database in
            switch (method, key) {
            case ("POST", nil): return try create(table, database)
            case ("PUT", let key?): return try update(key, table, isWhole: true, database)
            case ("MERGE", let key?) where isVersion2, ("PATCH", let key?):
                return try update(key, table, isWhole: false, database)
            case ("DELETE", let key?):
                try checkCondition(try row(key, table, database), table)
                try database.execute(sql: "DELETE FROM \(table.name) WHERE \(table.key) = ?", arguments: [key])
                if table.name == "Students" {
                    try database.execute(sql: "DELETE FROM StudentTopics WHERE StudentID = ?", arguments: [key])
                }
                try AdmissionsRows.bury(key, of: table, try AdmissionsRows.next(database).revision, database)
                return ServiceResponse(204)
            default: throw ServiceError(status: 405, code: "method", message: "Method \(method) not allowed here")
            }
        }
    }

    /// Students are written by those who know their state.
    private func checkCondition(_ row: Row, _ table: AdmissionsTable) throws(ServiceError) {
        guard let wanted = request["If-Match"] else {
            guard table.name != "Students" else {
                throw ServiceError(status: 428, code: "condition", message: "Data must be read before it is changed")
            }
            return
        }
        guard wanted == "*" || wanted == AdmissionsDocuments.tag(row) else {
            throw ServiceError(status: 412, code: "changed", message: "The entity has changed meanwhile")
        }
    }

    private func create(_ table: AdmissionsTable, _ database: Database) throws -> ServiceResponse {
        var values = try values(table)
        if table.name == "Students" {
            // The service chooses these keys.
            values[table.key] = try Int64.fetchOne(database, sql: "SELECT ifnull(max(StudentID), 0) + 1 FROM Students")
        }
        guard let key = values[table.key] ?? nil else { throw ServiceError.invalid("\(table.key) is missing") }
        let known = try Row.fetchOne(
            database, sql: "SELECT 1 FROM \(table.name) WHERE \(table.key) = ?", arguments: [key])
        guard known == nil else {
            throw ServiceError(status: 400, code: "ADM/002", message: "\(table.type) \(key) exists already")
        }
        let (revision, time) = try AdmissionsRows.next(database)
        if table.column("ModifiedAt") != nil { values["ModifiedAt"] = time }
        if table.column("Phones") != nil, values["Phones"] == nil { values["Phones"] = "[]" }
        let names = values.keys.sorted()
        try database.execute(
            sql: """
                INSERT INTO \(table.name) (\((names + ["revision"]).joined(separator: ", ")))
                VALUES (\(names.map { _ in "?" }.joined(separator: ", ")), ?)
                """, arguments: StatementArguments(names.map { values[$0] ?? nil } + [revision]))
        let row = try row("\(key)", table, database)
        var response = try single(row, table, database)
        response.status = 201
        response.fields["Location"] = documents.address(table, AdmissionsDocuments.key(row, of: table))
        return response
    }

    private func update(
        _ key: String, _ table: AdmissionsTable, isWhole: Bool, _ database: Database
    ) throws -> ServiceResponse {
        try checkCondition(try row(key, table, database), table)
        var values = try values(table)
        if isWhole {
            for column in documents.columns(table) where column.name != "ModifiedAt" && values[column.sql] == nil {
                values[column.sql] = .some(nil)
            }
            try check(values, table)
        }
        values[table.key] = nil
        let (revision, time) = try AdmissionsRows.next(database)
        if table.column("ModifiedAt") != nil { values["ModifiedAt"] = time }
        let names = values.keys.sorted()
        try database.execute(
            sql: """
                UPDATE \(table.name) SET \((names + ["revision"]).map { "\($0) = ?" }.joined(separator: ", "))
                WHERE \(table.key) = ?
                """, arguments: StatementArguments(names.map { values[$0] ?? nil } + [revision, key]))
        let changed = try row(key, table, database)
        let isReturned = !isVersion2 && request["Prefer"]?.contains("return=representation") ?? false
        if isReturned { return try single(changed, table, database) }
        return ServiceResponse(204, fields: ["ETag": AdmissionsDocuments.tag(changed)])
    }

    private func check(_ values: [String: (any DatabaseValueConvertible)?], _ table: AdmissionsTable)
        throws(ServiceError)
    {
        for column in table.columns where !column.isNullable && column.name != table.key && column.name != "ModifiedAt"
        {
            guard let value = values[column.sql] ?? nil else { throw .invalid("\(column.name) is missing") }
            if value as? String == "" {
                throw ServiceError(status: 400, code: "ADM/001", message: "\(column.name) must not be initial")
            }
        }
    }

    /// By column. A creation has all that is needed.
    private func values(_ table: AdmissionsTable) throws(ServiceError) -> [String: (any DatabaseValueConvertible)?] {
        let json = try request.json()
        guard let members = (isVersion2 ? json["d"] ?? json : json).dictionaryValue else {
            throw .invalid("An entity is an object.")
        }
        var values: [String: (any DatabaseValueConvertible)?] = [:]
        for member in members where !member.key.contains("@") && !member.key.hasPrefix("__") {
            if let nested = table.columns.first(where: { $0.complex == member.key })?.complex {
                for column in table.columns where column.complex == nested {
                    values[column.sql] = .some(
                        try column.argument(json: member.value[column.name] ?? .null, isVersion2))
                }
                continue
            }
            guard let column = table.column(member.key) else {
                throw .invalid("Property '\(member.key)' is invalid")
            }
            values[column.sql] = .some(try column.argument(json: member.value, isVersion2))
        }
        if method == "POST" { try check(values, table) } else { try checkGiven(values, table) }
        return values
    }

    private func checkGiven(
        _ values: [String: (any DatabaseValueConvertible)?], _ table: AdmissionsTable
    ) throws(ServiceError) {
        for column in table.columns where !column.isNullable {
            guard let value = values[column.sql] else { continue }
            guard let value, value as? String != "" else {
                throw ServiceError(status: 400, code: "ADM/001", message: "\(column.name) must not be initial")
            }
        }
    }
}

extension AdmissionsColumn {
    /// A value of JSON as the column has it. Throws `invalid` for what is none of its type's.
    fileprivate func argument(
        json: WireValue, _ isVersion2: Bool
    ) throws(ServiceError) -> (any DatabaseValueConvertible)? {
        if json.isNull { return nil }
        switch kind {
        case .text(let length):
            if let text = json.stringValue {
                guard text.unicodeScalars.count <= length else {
                    throw ServiceError(
                        status: 400, code: "ADM/003", message: "\(name) has at most \(length) characters")
                }
                return text
            }
        case .int32: if let number = json.int64Value { return number }
        case .flag: if let flag = json.boolValue { return flag ? 1 : 0 }
        case .guid: if let text = json.stringValue { return text.lowercased() }
        case .decimal:
            let text = json.stringValue ?? json.decimalValue?.description
            if let text, WireDecimal(text) != nil, !isVersion2 || json.stringValue != nil { return text }
        case .day:
            guard let text = json.stringValue else { break }
            if !isVersion2 { return text }
            if let time = Instants.milliseconds(ticks: text) { return String(Instants.text(time).prefix(10)) }
        case .instant:
            guard let text = json.stringValue else { break }
            if let time = isVersion2 ? Instants.milliseconds(ticks: text) : Instants.milliseconds(text) { return time }
        case .time:
            guard let text = json.stringValue else { break }
            if let time = isVersion2 ? Instants.time(version2: text) : text { return time }
        case .texts:
            if json.arrayValue != nil, let bytes = try? JSONFormat().write(json) {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
        throw .invalid("Property '\(name)' has a value of another type")
    }
}
