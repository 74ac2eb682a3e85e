import AdapterKit
import CSV
import HostConfiguration

extension Connection {
    /// Reads a connection file's text. `file` names it in errors. Throws ``ConfigurationErrors`` with everything that is
    /// wrong with it, each with its line and column.
    public init(_ text: String, file: String) throws(ConfigurationErrors) {
        let node: ConfigurationNode
        do { node = try YAMLDocument.read(text, file: file) } catch { throw ConfigurationErrors([error]) }
        let problems = FileGrammar.section(ConnectionGrammar.file).problems(of: node)
        var fingerprint = Fingerprint()
        fingerprint.add(text)
        var reader = ConnectionReader(revision: String(fingerprint.value, radix: 36), problems: problems)
        let connection = reader.connection(SectionNode(node))
        let errors = problems + reader.errors
        guard let connection, errors.isEmpty else { throw ConfigurationErrors(errors) }
        self = connection
    }
}

/// A mapping whose structure was checked.
private struct SectionNode {
    let location: ConfigurationLocation
    let entries: [ConfigurationNode.Entry]

    init(_ node: ConfigurationNode) {
        location = node.location
        if case .mapping(let entries) = node.content { self.entries = entries } else { entries = [] }
    }

    subscript(key: String) -> ConfigurationNode? {
        entries.first { $0.key == key }.flatMap { $0.value.content == .null ? nil : $0.value }
    }

    func section(_ key: String) -> SectionNode? { self[key].map { SectionNode($0) } }

    func entries(_ key: String) -> [ConfigurationNode.Entry] { section(key)?.entries ?? [] }

    func text(_ key: String) -> String? { self[key]?.text }

    func value(_ key: String, _ kind: ConfigurationKind) -> ConfigurationValue? {
        self[key].flatMap { try? FileGrammar.reader.read($0, as: kind) }
    }

    func integer(_ key: String) -> Int? { value(key, .integer(Int(Int32.min)...Int(Int32.max)))?.integer }

    func location(_ key: String) -> ConfigurationLocation { self[key]?.location ?? location }
}

extension ConfigurationNode {
    fileprivate var text: String? { if case .scalar(let text) = content { text } else { nil } }

    fileprivate var items: [ConfigurationNode] { if case .list(let items) = content { items } else { [] } }
}

/// Makes the parts of a connection, and collects what is wrong with them. Parts whose structure is wrong are left out:
/// what is missing there would be reported twice.
private struct ConnectionReader {
    let revision: String
    /// The structure's mistakes.
    let problems: [ConfigurationError]
    var errors: [ConfigurationError] = []
    var warnings: [ConfigurationError] = []
    var remarks: [ConfigurationError] = []

    init(revision: String, problems: [ConfigurationError]) { (self.revision, self.problems) = (revision, problems) }

    private mutating func wrong(_ message: String, at location: ConfigurationLocation) {
        errors.append(ConfigurationError(message, at: location))
    }

    /// The entries in which no structure is wrong.
    private func sound(_ entries: [ConfigurationNode.Entry], in node: SectionNode) -> [ConfigurationNode.Entry] {
        guard !problems.isEmpty else { return entries }
        let starts = (entries + node.entries).map(\.keyLocation)
        return entries.filter { entry in
            let end = starts.filter { entry.keyLocation.isBefore($0) }.min { $0.isBefore($1) }
            return !problems.contains { problem in
                !problem.location.isBefore(entry.keyLocation) && end.map { problem.location.isBefore($0) } ?? true
            }
        }
    }

    mutating func connection(_ node: SectionNode) -> Connection? {
        var upstream: UpstreamName?
        if let text = node.text("upstream") {
            upstream = UpstreamName(text)
            if upstream == nil { wrong("This cannot be the name of an upstream.", at: node.location("upstream")) }
        }
        checkCase(of: node.entries("entities"))
        let entities = sound(node.entries("entities"), in: node).compactMap { entity($0, hasUpstream: upstream != nil) }
        let operations = sound(node.entries("operations"), in: node).compactMap { operation($0, upstream) }
        if problems.isEmpty, node.entries("entities").isEmpty, node.entries("operations").isEmpty {
            wrong("There are neither entities nor operations.", at: node.location)
        }
        guard let title = node.text("title") else { return nil }
        return Connection(
            title: title, summary: node.text("summary") ?? "\(title), connected by a file.",
            upstream: upstream.map { (name: $0, location: node.location("upstream")) },
            access: node.value("access", .access)?.access ?? AccessRights(), headers: headers(node), entities: entities,
            operations: operations, revision: revision, warnings: warnings, remarks: remarks)
    }

    /// Fields that the gateway sets.
    private static let reserved: Set<String> = [
        "authorization", "connection", "content-length", "content-type", "cookie", "expect", "host", "idempotency-key",
        "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    private mutating func headers(_ node: SectionNode) -> [(name: String, value: String)] {
        node.entries("headers").compactMap { entry in
            let name = entry.key.lowercased()
            guard !name.isEmpty,
                name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }),
                !Self.reserved.contains(name)
            else {
                wrong("This is no header field that a request may have.", at: entry.keyLocation)
                return nil
            }
            guard let value = entry.value.text, value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
                wrong("A header field's value is visible ASCII.", at: entry.value.location)
                return nil
            }
            return (name: entry.key, value: value)
        }
    }

    // Entities

    private mutating func entity(_ entry: ConfigurationNode.Entry, hasUpstream: Bool) -> ConnectedEntity? {
        let node = SectionNode(entry.value)
        guard let name = EntityName(entry.key) else {
            wrong("An entity's name has letters, digits, `_` and `-`.", at: entry.keyLocation)
            return nil
        }
        let format = node.text("format").flatMap(DocumentFormat.init(rawValue:)) ?? .json
        let fields = fields(node.entries("fields"), isInput: false)
        guard let keyText = node.text("key"), let key = fields.first(where: { $0.name.text == keyText }) else {
            let names = fields.map(\.name.text).joined(separator: ", ")
            wrong("`key` names no field; the fields are \(names).", at: node.location("key"))
            // What else is wrong does not depend on it.
            _ = (source(node, format, hasUpstream: hasUpstream), paging(node, fields), settings(node))
            _ = (changes(node, fields), write(node, fields))
            return nil
        }
        switch key.type {
        case .integer, .string: break
        default: wrong("A key is a string or an integer.", at: node.location("key"))
        }
        if format == .csv, node["list"] != nil { wrong("A table of CSV has no list.", at: node.location("list")) }
        let rows = RowMapping(
            format: format, success: path(node, "success"), list: path(node, "list") ?? .root, fields: fields,
            key: key.name, deleted: path(node, "deleted"), mediaTypes: mediaTypes(node),
            separator: separator(node, format))
        let declared = declaration(name, node, fields, key)
        do { _ = try EntityRules(declared) } catch {
            wrong("The entity cannot be declared: \(error.logDetail ?? error.message)", at: entry.keyLocation)
        }
        guard let source = source(node, format, hasUpstream: hasUpstream) else { return nil }
        let paging = paging(node, fields)
        let settings = settings(node)
        let connected = ConnectedEntity(
            entity: declared, source: source, rows: rows, paging: paging, changes: changes(node, fields),
            record: record(node, key), write: write(node, fields), settings: settings)
        if let section = node.section("write") { checkWrites(connected, section) }
        return connected
    }

    /// Checks what a change would lose in the system, and what callers cannot change.
    private mutating func checkWrites(_ connected: ConnectedEntity, _ node: SectionNode) {
        if connected.owner != nil, connected.record == nil {
            warnings.append(
                ConfigurationError(
                    "Whose a record is, is known here as of the last refresh. With `record` the system is asked before each change.",
                    at: node.location))
        }
        checkConditions(connected, node)
        for (key, template) in [("create", connected.write?.create), ("update", connected.write?.update)] {
            guard let template else { continue }
            let location = node.location(key)
            if key == "update", template.method == .put, !template.changedOnly, let body = template.body {
                if connected.record == nil {
                    warnings.append(
                        ConfigurationError(
                            "This PUT sends the members that stand here and no others, with values as they were at the last refresh: "
                                + "what the system has besides may be lost. With `record` it is read before and kept.",
                            at: location))
                } else if body.format.rawValue != connected.rows.format.rawValue || body.format == .xml {
                    warnings.append(
                        ConfigurationError(
                            "This PUT sends the members that stand here and no others: what the system has besides may be lost. "
                                + "It is kept where answers and bodies are both JSON or both property lists.",
                            at: location))
                }
            }
            let sent = template.fields.union([connected.entity.key.field])
            let others = connected.entity.fields.map(\.name).filter { !sent.contains($0) }
            guard !others.isEmpty else { continue }
            remarks.append(
                ConfigurationError(
                    "Callers cannot \(key == "update" ? "change" : "give") \(others.map(\.text).joined(separator: ", ")): "
                        + "`\(key)` does not send \(others.count == 1 ? "it" : "them").", at: location))
        }
    }

    /// `If-Match` has the tag of a record that is read before the change.
    private mutating func checkConditions(_ connected: ConnectedEntity, _ node: SectionNode) {
        for (key, template) in [
            ("create", connected.write?.create), ("update", connected.write?.update),
            ("delete", connected.write?.delete),
        ] {
            guard let template, template.ifMatch, let section = node.section(key) else { continue }
            if key == "create" {
                wrong("A record that is created has no ETag before.", at: section.location("ifMatch"))
            } else if connected.record == nil {
                wrong("`ifMatch` needs `record`, which reads the ETag.", at: section.location("ifMatch"))
            }
        }
        guard let update = connected.write?.update, connected.record != nil, connected.owner == nil,
            update.changedOnly, !update.ifMatch
        else { return }
        remarks.append(
            ConfigurationError(
                "This update has no If-Match: with `ifMatch: true` the record is read before, and its ETag sent.",
                at: node.location("update")))
    }

    private mutating func source(
        _ node: SectionNode, _ format: DocumentFormat, hasUpstream: Bool
    ) -> ConnectedEntity.Source? {
        if let file = node.text("file") {
            for key in ["address", "query", "paging", "changes", "record", "write"] where node[key] != nil {
                wrong("A file has no \(key).", at: node.location(key))
            }
            if file.isEmpty { wrong("Here must stand a path.", at: node.location("file")) }
            return .file(file)
        }
        guard let address = template(node, "address", []) else {
            if node["address"] == nil { wrong("Here is neither an address nor a file.", at: node.location) }
            return nil
        }
        if !hasUpstream { wrong("The connection names no upstream for this address.", at: node.location("address")) }
        checkAddress(address, at: node.location("address"))
        return .address(
            RequestTemplate(
                method: .get, address: address, query: query(node, []), body: nil, changedOnly: false, item: .root))
    }

    private mutating func declaration(
        _ name: EntityName, _ node: SectionNode, _ fields: [FieldMapping], _ key: FieldMapping
    ) -> Entity {
        var rows = RowRules.everyone
        if let owner = node.text("owner") {
            if let field = fields.first(where: { $0.name.text == owner }), field.type.isText {
                rows = RowRules(read: .owner(field.name), write: .owner(field.name))
            } else {
                wrong("The owner is a text field.", at: node.location("owner"))
                rows = RowRules(read: .nobody, write: .nobody)
            }
        }
        let indexes = (node["indexes"]?.items ?? []).compactMap { item -> Index? in
            let names = item.text.map { [$0] } ?? item.items.compactMap(\.text)
            let known = names.compactMap { name in fields.first { $0.name.text == name && $0.type != .strings }?.name }
            if let unknown = names.first(where: { name in !fields.contains { $0.name.text == name } }) {
                let there = fields.map(\.name.text).joined(separator: ", ")
                wrong("There is no field `\(unknown)`: there are \(there).", at: item.location)
                return nil
            }
            guard known.count == names.count, !names.isEmpty, Set(names).count == names.count else {
                wrong("An index is of fields that hold one value.", at: item.location)
                return nil
            }
            return Index(known)
        }
        let search = (node["search"]?.items ?? []).compactMap { item -> FieldName? in
            guard let field = fields.first(where: { $0.name.text == item.text }), case .string = field.type else {
                wrong("A search covers fields of the type string.", at: item.location)
                return nil
            }
            return field.name
        }
        let access = node.value("access", .access)?.access
        return Entity(
            name, summary: node.text("summary") ?? "A record of \(name).", key: EntityKey(key.name, chosenBy: .caller),
            fields: fields.map { field in
                var shape = field.type.shape
                if field.name == key.name, case .string(let length) = field.type {
                    shape = .string(TextLimits(minimumLength: 1, maximumLength: min(length, FieldType.longestKey)))
                }
                let isNeeded = field.isRequired || field.name == key.name
                return Field(
                    field.name, shape, isRequired: isNeeded, isNullable: !isNeeded, summary: field.summary)
            }, indexes: indexes, searchFields: search, rows: rows, readers: access?.read, writers: access?.write)
    }

    /// Fields of an entity or of an operation: each is a column of the store, and SQLite has 2,000 of a table.
    private static let mostFields = 500

    private mutating func fields(_ entries: [ConfigurationNode.Entry], isInput: Bool) -> [FieldMapping] {
        checkCase(of: entries)
        if let entry = entries.dropFirst(Self.mostFields).first {
            wrong("There are more than \(Self.mostFields) fields.", at: entry.keyLocation)
        }
        return entries.compactMap { entry in
            guard let name = FieldName(entry.key) else {
                wrong("A field's name has letters, digits and `_`.", at: entry.keyLocation)
                return nil
            }
            let own = FieldMapping(
                name: name, type: .integer, from: DocumentPath(tokens: [name.text]), isRequired: false, summary: "")
            if let short = entry.value.text {
                guard let type = type(short, SectionNode(entry.value), at: entry.value.location) else { return nil }
                return FieldMapping(name: name, type: type, from: own.from, isRequired: false, summary: "")
            }
            let node = SectionNode(entry.value)
            guard let type = type(node.text("type") ?? "", node, at: node.location("type")) else { return nil }
            if isInput, node["from"] != nil { wrong("An input stands nowhere else.", at: node.location("from")) }
            return FieldMapping(
                name: name, type: type, from: path(node, "from") ?? own.from,
                isRequired: node.value("required", .flag)?.flag ?? false, summary: node.text("summary") ?? "")
        }
    }

    private mutating func separator(_ node: SectionNode, _ format: DocumentFormat) -> CSVSeparator {
        guard let text = node.text("separator") else { return .comma }
        if format != .csv { wrong("Only csv has a separator.", at: node.location("separator")) }
        return CSVSeparator(text) ?? .comma
    }

    private mutating func mediaTypes(_ node: SectionNode) -> Set<String> {
        var types: Set<String> = []
        for item in node["mediaTypes"]?.items ?? [] {
            let name = (item.text ?? "").mediaTypeName
            if name.split(separator: "/", omittingEmptySubsequences: false).count != 2 {
                wrong("This is no media type.", at: item.location)
            } else if name == "text/html" || name == "application/xhtml+xml" {
                wrong("A page is no answer: a system that asks for a sign-in answers with one.", at: item.location)
            }
            types.insert(name)
        }
        return types
    }

    /// Tables and columns of a database are known by their names without case.
    private mutating func checkCase(of entries: [ConfigurationNode.Entry]) {
        var names: Set<String> = []
        for entry in entries where !names.insert(entry.key.lowercased()).inserted {
            wrong("Another one has this name but for its case.", at: entry.keyLocation)
        }
    }

    private mutating func type(_ name: String, _ node: SectionNode, at location: ConfigurationLocation) -> FieldType? {
        let only = ["form": ["date", "boolean"], "values": ["choice"], "maximumLength": ["string"]]
        for (key, types) in only.sorted(by: { $0.key < $1.key }) where node[key] != nil && !types.contains(name) {
            wrong("Only the type \(types.joined(separator: " or ")) has \(key).", at: node.location(key))
        }
        let forms = name == "boolean" ? BooleanForm.allCases.map(\.rawValue) : DateForm.allCases.map(\.rawValue)
        if only["form"]?.contains(name) == true, let form = node.text("form"), !forms.contains(form) {
            wrong("A \(name) has the forms \(forms.joined(separator: ", ")).", at: node.location("form"))
        }
        switch name {
        case "string": return .string(maximumLength: node.integer("maximumLength") ?? FieldType.longestText)
        case "integer": return .integer
        case "number": return .number
        case "decimal": return .decimal
        case "boolean": return .boolean(node.text("form").flatMap(BooleanForm.init(rawValue:)) ?? .literal)
        case "date": return .date(node.text("form").flatMap(DateForm.init(rawValue:)) ?? .rfc3339)
        case "strings": return .strings
        case "choice":
            let values = (node["values"]?.items ?? []).compactMap(\.text)
            guard !values.isEmpty else {
                wrong("A choice needs values.", at: location)
                return nil
            }
            return .choice(values)
        default:
            wrong("There is no type \(name): there are \(FieldType.names.joined(separator: ", ")).", at: location)
            return nil
        }
    }

    private mutating func paging(_ node: SectionNode, _ fields: [FieldMapping]) -> Paging {
        guard let section = node.section("paging") else { return .none }
        let kind = section.text("kind") ?? ""
        let allowed: [String: Set<String>] = [
            "offset": ["query", "limit", "size", "total", "end"],
            "page": ["query", "limit", "size", "total", "first", "end"],
            "cursor": ["query", "limit", "size", "next", "last", "more", "end"],
            "link": ["limit", "size", "next", "end"],
        ]
        for entry in section.entries where entry.key != "kind" && !(allowed[kind]?.contains(entry.key) ?? false) {
            wrong("Paging by \(kind) has no \(entry.key).", at: entry.keyLocation)
        }
        if kind != "link", section["query"] == nil { wrong("Here query is missing.", at: section.location) }
        if (section["limit"] == nil) != (section["size"] == nil) {
            wrong("`limit` and `size` stand together.", at: section.location)
        }
        let query = section.text("query") ?? ""
        var paging: Paging
        switch kind {
        case "offset": paging = Paging(kind: .offset(query: query))
        case "page": paging = Paging(kind: .page(query: query, first: Int64(section.integer("first") ?? 1)))
        case "cursor":
            paging = Paging(kind: .cursor(query: query, from: cursor(section, fields), more: path(section, "more")))
        default: paging = Paging(kind: .link(path(section, "next")))
        }
        if let name = section.text("limit"), let size = section.integer("size") { paging.limit = (name, Int64(size)) }
        paging.total = path(section, "total")
        for item in section["end"]?.items ?? [] {
            guard let status = item.text.flatMap({ Int($0) }) else { continue }
            if ![204, 404, 410].contains(status) {
                wrong("A list ends with 204, 404 or 410, and with no other status.", at: item.location)
            }
            paging.endStatuses.insert(status)
        }
        return paging
    }

    private mutating func cursor(_ section: SectionNode, _ fields: [FieldMapping]) -> Paging.Cursor {
        switch (path(section, "next"), section.text("last")) {
        case (let path?, nil): return .answer(path)
        case (nil, let name?):
            if let field = fields.first(where: { $0.name.text == name }) { return .lastRow(field.name) }
            wrong("There is no field \(name).", at: section.location("last"))
        case (nil, nil):
            wrong("A cursor is at `next` of the answer, or the field `last` of the last row.", at: section.location)
        case (.some, .some): wrong("A cursor has one place: `next` or `last`.", at: section.location("last"))
        }
        return .answer(.root)
    }

    private mutating func changes(_ node: SectionNode, _ fields: [FieldMapping]) -> ConnectedChangeTracking? {
        guard let section = node.section("changes") else { return nil }
        guard let field = fields.first(where: { $0.name.text == section.text("field") }) else {
            wrong("There is no field \(section.text("field") ?? "").", at: section.location("field"))
            return nil
        }
        switch field.type {
        case .date, .integer, .string: break
        default: wrong("Changes are told by a date, an integer or a string.", at: section.location("field"))
        }
        let query = query(section, [field])
        let isWhole = query.count == section.entries("query").count
        if isWhole, !query.contains(where: { $0.value.fields.contains(field.name) }) {
            wrong("No member of the query has `{\(field.name)}`.", at: section.location("query"))
        }
        return ConnectedChangeTracking(
            field: field, query: query, full: section.value("full", .duration)?.duration ?? .seconds(86_400))
    }

    private mutating func record(_ node: SectionNode, _ key: FieldMapping) -> RequestTemplate? {
        guard let section = node.section("record"), let address = template(section, "address", [key]) else {
            return nil
        }
        checkAddress(address, at: section.location("address"))
        return RequestTemplate(
            method: .get, address: address, query: query(section, [key]), body: nil, changedOnly: false,
            item: path(section, "item") ?? .root)
    }

    private mutating func write(_ node: SectionNode, _ fields: [FieldMapping]) -> WriteTemplates? {
        guard let section = node.section("write") else { return nil }
        let templates = ["create", "update", "delete"].map { name in
            section.section(name).flatMap { request($0, fields) }
        }
        if section["create"] == nil, section["update"] == nil, section["delete"] == nil {
            wrong("Here is no create, update or delete.", at: section.location)
        }
        return WriteTemplates(
            writing: section.text("mode").flatMap(MirrorSource.Writing.init(rawValue:)) ?? .none,
            honoursIdempotencyKeys: section.value("idempotencyKeys", .flag)?.flag ?? false, create: templates[0],
            update: templates[1], delete: templates[2])
    }

    private mutating func settings(_ node: SectionNode) -> MirrorSettings {
        var settings = MirrorSettings()
        if node["file"] != nil { (settings.freshFor, settings.refresh) = (.seconds(2), .seconds(30)) }
        settings.freshFor = duration(node, "freshFor") ?? settings.freshFor
        settings.staleFor = duration(node, "staleFor") ?? settings.staleFor
        settings.waitFor = duration(node, "waitFor") ?? settings.waitFor
        settings.refresh = duration(node, "refresh") ?? settings.refresh
        if settings.freshFor > settings.staleFor {
            wrong(
                "What is fresh cannot be too old: `freshFor` is longer than `staleFor`.",
                at: node.location(node["staleFor"] == nil ? "freshFor" : "staleFor"))
        }
        if let guarded = node.section("guard") {
            if case .number(let share)? = guarded.value("share", .number) {
                if !(0...1).contains(share) { wrong("A share is from 0 to 1.", at: guarded.location("share")) }
                settings.guard.share = share
            }
            settings.guard.from = guarded.integer("from") ?? settings.guard.from
        }
        return settings
    }

    private mutating func duration(_ node: SectionNode, _ key: String) -> Duration? {
        guard let duration = node.value(key, .duration)?.duration else { return nil }
        // Ten years, far below where durations end.
        guard duration <= .seconds(315_360_000) else {
            wrong("This is longer than ten years.", at: node.location(key))
            return nil
        }
        return duration
    }

    // Requests

    private mutating func request(_ node: SectionNode, _ fields: [FieldMapping]) -> RequestTemplate? {
        guard let address = template(node, "address", fields) else { return nil }
        checkAddress(address, at: node.location("address"))
        let method = node.text("method").flatMap(UpstreamRequest.Method.init(rawValue:)) ?? .post
        let format = node.text("as").flatMap(BodyFormat.init(rawValue:)) ?? .json
        var body: BodyTemplate?
        if let written = node["body"] {
            if method == .get { wrong("A GET has no body.", at: written.location) }
            body = self.body(written, format, fields)
        } else if node["as"] != nil {
            wrong("There is no body to write so.", at: node.location("as"))
        }
        return RequestTemplate(
            method: method, address: address, query: query(node, fields), body: body,
            changedOnly: node.value("changedOnly", .flag)?.flag ?? (method == .patch),
            ifMatch: node.value("ifMatch", .flag)?.flag ?? false, item: path(node, "item") ?? .root)
    }

    private mutating func body(
        _ node: ConfigurationNode, _ format: BodyFormat, _ fields: [FieldMapping]
    ) -> BodyTemplate? {
        switch (format, node.content) {
        case (.xml, .scalar(let text)):
            guard let template = template(text, fields, at: node.location) else { return nil }
            let empty = TemplateValues(values: [:], mappings: fields)
            // Only the values differ later, and they are escaped.
            if let rendered = try? empty.render(template.withoutFields, .xml), !rendered.isEmpty,
                (try? DocumentFormat.xml.read(Array(rendered.utf8))) == nil
            {
                wrong("The body is no XML document.", at: node.location)
            }
            return BodyTemplate(format: format, content: .text(template))
        case (.xml, _): wrong("A body of XML is a text.", at: node.location)
        case (_, .mapping), (.json, .list), (.plist, .list):
            return BodyTemplate(format: format, content: content(node, fields))
        default: wrong("A body is a mapping.", at: node.location)
        }
        return nil
    }

    private mutating func content(_ node: ConfigurationNode, _ fields: [FieldMapping]) -> BodyTemplate.Content {
        switch node.content {
        case .null: return .literal(.null)
        case .list(let items): return .list(items.map { content($0, fields) })
        case .mapping(let entries):
            return .members(entries.map { (name: $0.key, content: content($0.value, fields)) })
        case .scalar(let text):
            if node.isPlain {
                if text == "true" || text == "false" { return .literal(.bool(text == "true")) }
                if let number = Int64(text) { return .literal(.int64(number)) }
                if let number = Double(text), number.isFinite, text.first?.isLetter == false {
                    return .literal(.double(number))
                }
            }
            return template(text, fields, at: node.location).map { .text($0) } ?? .literal(.null)
        }
    }

    private mutating func query(_ node: SectionNode, _ fields: [FieldMapping]) -> [RequestTemplate.QueryMember] {
        node.entries("query").compactMap { entry in
            template(entry.value.text ?? "", fields, at: entry.value.location)
                .map { RequestTemplate.QueryMember(name: entry.key, value: $0) }
        }
    }

    /// Checks a reference from the upstream's `url`, whatever its fields have.
    private mutating func checkAddress(_ template: Template, at location: ConfigurationLocation) {
        // Cannot trap: a literal.
        let base = UpstreamAddress("http://upstream.example/path/")!
        let sample = template.parts.map { if case .text(let text) = $0 { text } else { "x" } }.joined()
        guard let address = base.resolving(sample), address.origin == base.origin, !sample.hasPrefix("//") else {
            wrong("This is no address relative to the upstream's `url`.", at: location)
            return
        }
        // The fields are escaped whole, so an escape stands in the text alone.
        guard sample.hasWholeEscapes else {
            wrong("An escape in an address is `%` and two hexadecimal digits; a percent sign is `%25`.", at: location)
            return
        }
    }

    private mutating func template(_ node: SectionNode, _ key: String, _ fields: [FieldMapping]) -> Template? {
        node[key].flatMap { template($0.text ?? "", fields, at: $0.location) }
    }

    private mutating func template(
        _ text: String, _ fields: [FieldMapping], at location: ConfigurationLocation
    ) -> Template? {
        do throws(Template.Problem) { return try Template(text, fields: fields) } catch {
            wrong(error.message, at: location)
            return nil
        }
    }

    private mutating func path(_ node: SectionNode, _ key: String) -> DocumentPath? {
        guard let text = node.text(key) else { return nil }
        guard let path = DocumentPath(text) else {
            wrong("This is no path: it begins with `/`, and `~` is written `~0`.", at: node.location(key))
            return nil
        }
        return path
    }

    // Operations

    private mutating func operation(_ entry: ConfigurationNode.Entry, _ upstream: UpstreamName?) -> ConnectedOperation?
    {
        let node = SectionNode(entry.value)
        guard let name = OperationName(entry.key) else {
            wrong("An operation's name has letters, digits and `-`.", at: entry.keyLocation)
            return nil
        }
        guard let upstream else {
            wrong("The connection names no upstream for this operation.", at: entry.keyLocation)
            return nil
        }
        let input = fields(node.entries("input"), isInput: true)
        guard let asked = node.section("request"), let request = request(asked, input) else { return nil }
        let reads = node.text("effect").map { $0 == "reads" } ?? (request.method == .get)
        let list = path(node, "list")
        let format = node.text("format").flatMap(DocumentFormat.init(rawValue:)) ?? .json
        let answer = RowMapping(
            format: format,
            success: path(node, "success"), list: list ?? .root, fields: fields(node.entries("fields"), isInput: false),
            key: nil, deleted: nil, separator: separator(node, format))
        let item = ObjectShape("\(name.text)Item", members: answer.fields.map { Self.member($0, isNullable: true) })
        let output =
            list == nil
            ? item
            : ObjectShape(
                "\(name.text)Output",
                members: [Member(ConnectedOperation.items, .list(of: .object(item)), isRequired: true)]
            )
        return ConnectedOperation(
            operation: Operation(
                name, summary: node.text("summary") ?? "", effect: reads ? .reads : .writes,
                input: ObjectShape("\(name.text)Input", members: input.map { Self.member($0, isNullable: false) }),
                output: .object(output), entities: [], callThrough: reads ? callThrough(node, upstream) : nil),
            request: request, input: input, answer: answer, isList: list != nil)
    }

    private static func member(_ field: FieldMapping, isNullable: Bool) -> Member {
        Member(
            field.name, field.type.shape, isRequired: !isNullable && field.isRequired,
            isNullable: isNullable, acceptsText: !isNullable, summary: field.summary)
    }

    private mutating func callThrough(_ node: SectionNode, _ upstream: UpstreamName) -> CallThrough {
        let ages = settings(node)
        return CallThrough(to: upstream, freshFor: ages.freshFor, staleFor: ages.staleFor, waitFor: ages.waitFor)
    }
}

extension Template {
    /// With nothing in place of its fields.
    fileprivate var withoutFields: Template {
        Template(parts: parts.filter { if case .text = $0 { true } else { false } })
    }
}

extension String {
    /// Whether two hexadecimal digits follow every percent sign.
    fileprivate var hasWholeEscapes: Bool {
        let pieces = utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst()
        return pieces.allSatisfy { piece in
            piece.count >= 2
                && piece.prefix(2).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
        }
    }
}

extension ConfigurationLocation {
    /// In one file.
    fileprivate func isBefore(_ other: ConfigurationLocation) -> Bool {
        guard case .file(_, let line, let column) = self, case .file(_, let otherLine, let otherColumn) = other else {
            return false
        }
        return (line, column) < (otherLine, otherColumn)
    }
}
