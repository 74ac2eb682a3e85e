import AdapterKit
import SOAP
import WireFormats

/// A search of employees by SOAP: its operation, and where in its messages the contract's members stand.
///
/// They are found by their names, at whatever depth the service's types have them; `names` has those that are called
/// otherwise. Case does not matter.
struct SOAPSearch: Sendable {
    static let options = [
        ConfigurationOption(
            "wsdl", .file,
            summary: "`protocol: soap`: the WSDL's file, relative to this file. `porticoctl soap fetch` writes it."),
        ConfigurationOption(
            "operation", .string, defaultValue: .string(EmployeeOperations.searchName.text),
            summary: "`protocol: soap`: the WSDL's operation that searches."),
        ConfigurationOption(
            "names.*", .string,
            summary:
                "`protocol: soap`: how the service calls a member of the contract: `names: {fullName: searchText}`."),
        ConfigurationOption(
            "wsSecurity.username", .string,
            summary: "`protocol: soap`: who asks, in a UsernameToken of WS-Security; without it there is none."),
        ConfigurationOption("wsSecurity.password", .secret, summary: "`protocol: soap`: the token's password."),
        ConfigurationOption(
            "wsSecurity.kind", .choice(UsernameToken.Password.allCases.map(\.rawValue)), defaultValue: "text",
            summary: "`protocol: soap`: whether the password is sent as it is (`text`) or as a `digest`."),
    ]

    /// A message's members are looked for this deep.
    private static let maximumDepth = 8
    static let listName = EmployeeOperations.employees.text
    static let totalName = EmployeeOperations.totalRows.text
    private static let criteriaNames = SearchCriteria.shape.members.map(\.name.text)
    private static let employeeNames = Employees.contractFields.map(\.text)

    let operation: SOAPOperation
    let schema: XMLSchemaSet
    let security: Security?
    /// The service's names of the contract's members.
    private let names: [String: String]
    /// From the request's element to the one with the criteria, which has these members of the contract.
    private let criteriaPath: [String]
    private let criteria: [String: String]
    /// From the answer's element to the list of employees.
    private let listPath: [String]
    /// Elements around the list that every answer has by its type: so many of the path, from the first.
    private let requiredDepth: Int
    /// The same to how many there are in all; nil: the service does not say.
    private let totalPath: [String]?
    /// The same to how many a page has, where the service has smaller ones than were asked for.
    private let rowsPath: [String]?

    struct Security: Sendable {
        let username: String
        let password: Secret
        let kind: UsernameToken.Password
    }

    /// Nil without `protocol: soap`. `asksEachTime`: callers' own criteria are passed on, so that all are needed. Throws
    /// ``ConfigurationProblem`` with what the WSDL lacks.
    init?(_ configuration: AdapterConfiguration, asksEachTime: Bool) throws {
        guard configuration["protocol"]?.stringValue == "soap" else {
            for key in ["wsdl", "names", "wsSecurity"] where configuration[key] != nil {
                // A default of `wsSecurity.kind` alone says nothing.
                guard key != "wsSecurity" || configuration[key, "username"] != nil else { continue }
                throw ConfigurationProblem(key, "This is for `protocol: soap`.")
            }
            return nil
        }
        guard configuration["upstream"] != nil else {
            throw ConfigurationProblem("protocol", "There is nothing to call: `upstream` names no system.")
        }
        guard let file = configuration["wsdl"]?.stringValue else {
            throw ConfigurationProblem(
                "protocol", "`protocol: soap` needs `wsdl`, the file that describes the service.")
        }
        let description: SOAPServiceDescription
        do {
            description = try SOAPServiceDescription(
                contentsOf: file.hasPrefix("/") ? file : "\(configuration.directory)/\(file)")
        } catch {
            throw ConfigurationProblem("wsdl", "\(error).")
        }
        let name = configuration["operation"]?.stringValue ?? EmployeeOperations.searchName.text
        operation = try Self.operation(name, of: description)
        schema = description.schema
        security = try Self.security(configuration)
        names = try Self.names(configuration)
        guard operation.input.count == 1, operation.output.count == 1 else {
            throw ConfigurationProblem("wsdl", "The operation \(name) has not one element in each direction.")
        }
        let finder = MemberFinder(schema: schema, names: names, maximumDepth: Self.maximumDepth)
        (criteriaPath, criteria) = finder.criteria(in: operation.input[0], Self.criteriaNames)
        guard let found = finder.list(in: operation.output[0], Self.employeeNames, preferring: Self.listName) else {
            throw ConfigurationProblem(
                "wsdl",
                "The answer of \(name) has no list of elements with any of \(Self.listed(Self.employeeNames)); it has \(Self.listed(finder.names(in: operation.output[0]))); `names` says what they are called."
            )
        }
        (listPath, requiredDepth) = (found.path, found.requiredDepth)
        totalPath = finder.path(to: Self.totalName, beside: found.path, in: operation.output[0])
        rowsPath = finder.path(to: SearchCriteria.rowsPerPage.text, beside: found.path, in: operation.output[0])
        guard configuration["path"] != nil || path != nil else {
            throw ConfigurationProblem("wsdl", "The WSDL names no address; `path` says where the service is.")
        }
        try checkMembers(found, finder.names(in: operation.input[0]), asksEachTime: asksEachTime)
        try checkRequest()
    }

    private func checkMembers(_ list: MemberFinder.FoundList, _ asked: [String], asksEachTime: Bool) throws {
        guard list.missing.isEmpty else {
            throw ConfigurationProblem(
                "wsdl",
                "The employees of \(operation.name) lack \(Self.listed(list.missing)) and have \(Self.listed(list.members)); `names` says what they are called."
            )
        }
        let paging = [SearchCriteria.pageIndex.text, SearchCriteria.rowsPerPage.text]
        let isPaged = paging.allSatisfy { criteria[$0] != nil }
        let lacking = asksEachTime ? Self.criteriaNames.filter { criteria[$0] == nil } : []
        guard lacking.isEmpty else {
            throw ConfigurationProblem(
                "wsdl",
                "The request of \(operation.name) lacks \(Self.listed(lacking)), which `mode: call` passes on, and has \(Self.listed(asked)); `names` says what they are called."
            )
        }
        // One of the two alone would be the same page again and again.
        guard isPaged || paging.allSatisfy({ criteria[$0] == nil }) else {
            throw ConfigurationProblem(
                "wsdl", "The request of \(operation.name) has one of \(paging.joined(separator: " and ")) alone.")
        }
    }

    private static func listed(_ names: [String]) -> String {
        names.prefix(30).joined(separator: ", ") + (names.count > 30 ? ", …" : "")
    }

    /// Finds what a service asks for beyond the contract before anything is called.
    private func checkRequest() throws {
        do { _ = try operation.request(value(of: Self.everyone(page: 0)), schema) } catch {
            throw ConfigurationProblem(
                "wsdl",
                "The request of \(operation.name) asks for what the search does not have: \(error.path): \(error.message)."
            )
        }
    }

    private static func operation(_ name: String, of description: SOAPServiceDescription) throws -> SOAPOperation {
        guard let operation = description.operation(name) else {
            let known = description.operations.map(\.name)
            let reasons = description.problems.prefix(5).map { " \($0)." }.joined()
            throw ConfigurationProblem(
                "wsdl",
                "There is no operation \(name) that can be called"
                    + (known.isEmpty ? "." : "; there are \(known.prefix(20).joined(separator: ", ")).") + reasons)
        }
        let problems = description.problems(of: operation)
        guard problems.isEmpty else {
            throw ConfigurationProblem("wsdl", problems.prefix(5).map { "\($0)." }.joined(separator: " "))
        }
        return operation
    }

    private static func security(_ configuration: AdapterConfiguration) throws -> Security? {
        guard let username = configuration["wsSecurity", "username"]?.stringValue else {
            guard configuration["wsSecurity", "password"] == nil else {
                throw ConfigurationProblem("wsSecurity.username", "A password needs the name that it belongs to.")
            }
            return nil
        }
        guard let password = configuration["wsSecurity", "password"]?.stringValue else {
            throw ConfigurationProblem("wsSecurity.password", "The token needs a password.")
        }
        let kind = configuration["wsSecurity", "kind"]?.stringValue.flatMap(UsernameToken.Password.init(rawValue:))
        return Security(username: username, password: Secret(password), kind: kind ?? .text)
    }

    private static func names(_ configuration: AdapterConfiguration) throws -> [String: String] {
        var names: [String: String] = [:]
        let known = criteriaNames + employeeNames + [listName, totalName]
        for entry in configuration["names"]?.dictionaryValue ?? [:] {
            guard known.contains(entry.key) else {
                throw ConfigurationProblem(
                    "names.\(entry.key)", "The contract has no such member. It has \(known.joined(separator: ", ")).")
            }
            names[entry.key] = entry.value.stringValue
        }
        return names
    }
}

// MARK: Messages

extension SOAPSearch {
    /// Whether the service answers page by page; otherwise one answer has every employee.
    var isPaged: Bool { criteria[SearchCriteria.pageIndex.text] != nil }

    /// Where the WSDL says that the service is, without its server: the upstream's address says which one is called.
    var path: String? { UpstreamAddress(operation.address)?.target }

    static func everyone(page: Int64) -> WireValue {
        [
            "division": "", "order": "ASC", "rowsPerPage": .int64(SearchCriteria.maximumRowsPerPage),
            "pageIndex": .int64(page), "fullName": "",
        ]
    }

    /// The value of a request's element: the criteria as the service calls them.
    func value(of criteria: WireValue) -> WireValue {
        var members = WireDictionary()
        for (name, called) in self.criteria.sorted(by: { $0.key < $1.key }) { members[called] = criteria[name] }
        return criteriaPath.reversed().reduce(.dictionary(members)) { inner, name in
            .dictionary(WireDictionary(uncheckedUniqueKeys: [.init(key: name, value: inner)]))
        }
    }

    /// An answer as the contract has it in JSON; members that the contract does not name keep their names.
    func readResponse(_ message: SOAPMessage) throws -> WireDictionary {
        let value: WireValue
        do { value = try operation.readResponse(message, schema) } catch {
            throw MirrorRefusal(.unexpected, "the answer is not as the WSDL has it: \(error.path): \(error.message)")
        }
        var answer = WireDictionary()
        // An empty list may be left out with what is around it, as far as the types allow. What stands in another namespace
        // than the schema's is read without types: one employee is no list there.
        let around = Self.depth(of: listPath, in: value)
        guard
            let items = Self.member(listPath, of: value).map({ $0.arrayValue ?? [$0] })
                ?? (around < requiredDepth ? nil : [])
        else { return answer }
        var renamed: [String: String] = [:]
        for name in Self.employeeNames { renamed[(names[name] ?? name).lowercased()] = name }
        answer[Self.listName] = .array(
            items.map { item in
                guard let members = item.dictionaryValue else { return item }
                var employee = WireDictionary()
                for member in members {
                    // In the contract's JSON there is no null; what is left out is empty too.
                    employee[renamed[member.key.lowercased()] ?? member.key] = member.value.isNull ? "" : member.value
                }
                return .dictionary(employee)
            })
        if let totalPath, let total = Self.member(totalPath, of: value), !total.isNull {
            answer[Self.totalName] = total
        }
        if let rowsPath, let rows = Self.member(rowsPath, of: value), !rows.isNull {
            answer[SearchCriteria.rowsPerPage.text] = rows
        }
        return answer
    }

    private static func member(_ path: [String], of value: WireValue) -> WireValue? {
        path.reduce(value) { value, name in value?[name] }
    }

    /// The number of elements of the path that are there.
    private static func depth(of path: [String], in value: WireValue) -> Int {
        var (value, depth) = (value, 0)
        for name in path {
            guard let inner = value[name], !inner.isNull else { break }
            (value, depth) = (inner, depth + 1)
        }
        return depth
    }
}

/// Finds elements in a message's types.
private struct MemberFinder {
    let schema: XMLSchemaSet
    let names: [String: String]
    let maximumDepth: Int

    /// An element by its path, and the elements inside of it.
    private struct Place {
        let path: [String]
        /// So many elements of the path are in every message, from the first on.
        let requiredDepth: Int
        let element: ElementDeclaration
        let members: [ElementDeclaration]
    }

    /// Level by level, so that what stands further outside comes first. Each named type is looked into once.
    private func places(in root: ElementDeclaration) -> [Place] {
        var found: [Place] = []
        var seen: Set<QName> = []
        var level: [(path: [String], required: Int, element: ElementDeclaration)] = [([], 0, root)]
        for _ in 0..<maximumDepth {
            var next: [(path: [String], required: Int, element: ElementDeclaration)] = []
            for (path, required, element) in level {
                if case .named(let name) = element.type, !seen.insert(name).inserted { continue }
                guard case .complex(let type) = schema.type(element.type) else { continue }
                let members = type.elements
                found.append(Place(path: path, requiredDepth: required, element: element, members: members))
                next += members.map { member in
                    let isRequired = member.occurrence == .once && !member.isNillable && required == path.count
                    return (path + [member.name.name], required + (isRequired ? 1 : 0), member)
                }
            }
            level = next
        }
        return found
    }

    private func element(_ name: String, among members: [ElementDeclaration]) -> ElementDeclaration? {
        let wanted = (names[name] ?? name).lowercased()
        return members.first { $0.name.name.lowercased() == wanted }
    }

    /// The element with the most of these members; the first of several.
    func criteria(in root: ElementDeclaration, _ wanted: [String]) -> (path: [String], names: [String: String]) {
        var best: (path: [String], names: [String: String]) = ([], [:])
        for place in places(in: root) where !place.element.occurrence.repeats || place.path.isEmpty {
            var found: [String: String] = [:]
            for name in wanted { found[name] = element(name, among: place.members)?.name.name }
            if found.count > best.names.count { best = (place.path, found) }
        }
        return best
    }

    /// The names of all elements that are asked for, for people.
    func names(in root: ElementDeclaration) -> [String] {
        places(in: root).flatMap(\.members).filter { element in
            if case .complex = schema.type(element.type) { false } else { true }
        }.map(\.name.name)
    }

    /// A list that was found, from the answer's element.
    struct FoundList {
        let path: [String]
        let requiredDepth: Int
        /// The wanted members that are missing.
        let missing: [String]
        /// The elements of an item.
        let members: [String]
    }

    /// The element that repeats and has the most of these members.
    func list(in root: ElementDeclaration, _ wanted: [String], preferring name: String) -> FoundList? {
        let candidates = places(in: root).filter { $0.element.occurrence.repeats && !$0.path.isEmpty }.map { place in
            (place: place, missing: wanted.filter { element($0, among: place.members) == nil })
        }.filter { $0.missing.count < wanted.count }
        guard let fewest = candidates.map(\.missing.count).min() else { return nil }
        let best = candidates.filter { $0.missing.count == fewest }
        let wantedName = (names[name] ?? name).lowercased()
        let chosen = best.first { $0.place.path.last?.lowercased() == wantedName } ?? best[0]
        return FoundList(
            path: chosen.place.path, requiredDepth: chosen.place.requiredDepth, missing: chosen.missing,
            members: chosen.place.members.map(\.name.name))
    }

    /// A member of one of the elements around a list.
    func path(to name: String, beside list: [String], in root: ElementDeclaration) -> [String]? {
        for place in places(in: root).reversed() where list.starts(with: place.path) && place.path.count < list.count {
            if let element = element(name, among: place.members) { return place.path + [element.name.name] }
        }
        return nil
    }
}
