import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel

/// Which system query options a resource takes when it is read (Protocol 4.01, section 11.2.1): what is for collections
/// is refused where there is none, rather than passed over.
struct OptionRules {
    private let request: ServiceRequest

    init(_ request: ServiceRequest) {
        self.request = request
    }

    /// Throws `request.invalid` with the option as the target.
    func check(_ address: Address) throws(PorticoError) {
        guard request.method == "GET" else { return }
        for option in request.target.options {
            guard let name = option.form.name, option.form.isForCollections || option.form.isShape else { continue }
            if isTaken(option.form, address) { continue }
            throw PorticoError(.requestInvalid, "\(name) has no meaning here.", target: name)
        }
    }

    private func isTaken(_ form: QueryOption.Form, _ address: Address) -> Bool {
        let isForCollections = form.isForCollections
        switch (address.target, address.suffix) {
        case (.entities, .ref): return isForCollections
        case (.entities, _), (.operation, _): return true
        case (.entity, .ref): return false
        case (.entity, _): return !isForCollections
        case (.property(_, let property), _):
            return isForCollections ? property.type.isCollection : property.type.type.isStructured
        case (.stream, _): return false
        }
    }
}

extension QueryOption.Form {
    /// Whether it chooses among several or orders them.
    fileprivate var isForCollections: Bool {
        switch self {
        case .filter, .orderBy, .search, .apply, .top, .skip, .index, .count, .skipToken, .deltaToken: true
        default: false
        }
    }

    /// Whether it says what is told of each.
    fileprivate var isShape: Bool {
        switch self {
        case .select, .expand, .compute: true
        default: false
        }
    }
}
