import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Checks which system query options a resource takes (Protocol 4.01, sections 11.2.1 and 11.4): 400 for options
/// without a meaning there, 501 for those that OData defines and this service does not implement. None is ignored.
struct OptionRules {
    private enum Rule {
        case taken, meaningless, notAnswered
    }

    private let request: ServiceRequest
    private var isReading: Bool { request.method == "GET" }

    init(_ request: ServiceRequest) {
        self.request = request
    }

    /// Throws `request.invalid` with the option as the target, or 501.
    func check(_ address: ResourcePath) throws {
        for option in request.target.options { try check(option, rule(option.form, address)) }
    }

    /// Of the service document and the metadata.
    func checkDocument() throws {
        for option in request.target.options {
            switch option.form {
            case .format, .schemaVersion, .alias, .custom: continue
            default: try check(option, .meaningless)
            }
        }
    }

    /// Of what is of several sets: `$all` and `$crossjoin`.
    func checkCombined() throws {
        for option in request.target.options {
            switch option.form {
            case .deltaToken, .index, .id: try check(option, .meaningless)
            default: continue
            }
        }
    }

    private func check(_ option: QueryOption, _ rule: Rule) throws {
        let name = option.form.name ?? ""
        switch rule {
        case .taken: return
        case .meaningless:
            throw PorticoError(.requestInvalid, "\(name) has no meaning here.", target: name)
        case .notAnswered: throw ODataError.notImplemented("\(name) of a property")
        }
    }

    private func rule(_ form: QueryOption.Form, _ address: ResourcePath) -> Rule {
        switch form {
        case .schemaVersion, .alias, .custom: return .taken
        case .format: return isRaw(address) && request.language == .v4 ? .meaningless : .taken
        case .id: return request.method == "DELETE" && address.suffix == .ref ? .taken : .meaningless
        case .index, .levels: return .meaningless
        default: break
        }
        if isReading, case .property(_, let property) = address.target { return rule(form, property.type) }
        let takes = takes(form, address)
        return takes ? .taken : .meaningless
    }

    /// Raw values have one format.
    private func isRaw(_ address: ResourcePath) -> Bool {
        if case .stream = address.target { return isReading }
        return isReading && address.suffix == .value
    }

    private func rule(_ form: QueryOption.Form, _ type: TypeReference) -> Rule {
        switch form {
        case .skipToken, .deltaToken: .meaningless
        default: (form.isForCollections ? type.isCollection : type.type.isStructured) ? .notAnswered : .meaningless
        }
    }

    private func takes(_ form: QueryOption.Form, _ address: ResourcePath) -> Bool {
        if case .operation(let call) = address.target { return takes(form, resultOf: call) }
        guard isReading else { return form.isShape && answersWithEntities(address) }
        switch (address.target, address.suffix) {
        case (.entities, .none): return true
        case (.entities, .count): if case .skipToken = form { return false } else { return true }
        case (.entities, .ref):
            if case .deltaToken = form { return false }
            return form.isForCollections
        case (.entity, .none): return form.isShape
        default: return false
        }
    }

    /// A write's answer may be the entity that was written.
    private func answersWithEntities(_ address: ResourcePath) -> Bool {
        guard address.suffix == .none else { return false }
        switch address.target {
        case .entity: return request.method != "DELETE"
        case .entities: return request.method == "POST"
        default: return false
        }
    }

    /// Results of operations are not paged.
    private func takes(_ form: QueryOption.Form, resultOf call: OperationCall) -> Bool {
        switch form {
        case .skipToken, .deltaToken: return false
        default: break
        }
        return call.overloads.compactMap(\.result).contains { result in
            guard case .entity = result.type else { return false }
            return form.isShape || result.isCollection
        }
    }
}

extension QueryOption.Form {
    /// Whether it filters, orders or pages a collection.
    fileprivate var isForCollections: Bool {
        switch self {
        case .filter, .orderBy, .search, .apply, .top, .skip, .index, .count, .skipToken, .deltaToken: true
        default: false
        }
    }

    /// Whether it selects what is written of each entity.
    fileprivate var isShape: Bool {
        switch self {
        case .select, .expand, .compute: true
        default: false
        }
    }
}
