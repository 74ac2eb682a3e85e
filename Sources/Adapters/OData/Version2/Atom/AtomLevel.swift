import ODataModel
import ODataQueries

/// What the entries of one level have in common, as markup that is made once: for each of them only values and addresses
/// are put between.
final class AtomLevel {
    let level: Version2Level
    private let model: EntityDataModel
    private var kinds: [String: AtomKind] = [:]

    init(_ level: Version2Level, model: EntityDataModel) {
        self.level = level
        self.model = model
    }

    func kind(of row: ResultRow) -> AtomKind {
        let kind = level.kind(of: row)
        if let known = kinds[kind.typeName] { return known }
        let made = AtomKind(kind, model: model)
        kinds[kind.typeName] = made
        return made
    }
}

/// What entries of one type have.
final class AtomKind {
    /// Markup around an address.
    struct Link {
        let before: [UInt8]
        let after: [UInt8]
    }

    struct Property {
        let element: AtomElement
        let position: Int
        let type: TypeReference
        let shape: Version2Shape
        let members: [[String]]?
    }

    struct Navigation {
        let name: String
        let isCollection: Bool
        /// Without the end of the link where something is in it.
        let link: Link
        let expansion: (position: Int, level: AtomLevel)?
    }

    let isMedia: Bool
    let category: [UInt8]
    let edit: Link
    let properties: [Property]
    let navigation: [Navigation]

    init(_ kind: Version2Level.Kind, model: EntityDataModel) {
        isMedia = kind.isMedia
        category = AtomMarkup.element("category", [("term", kind.typeName), ("scheme", AtomName.scheme)])
        edit = AtomMarkup.link([("rel", "edit"), ("title", kind.type.name.name)], suffix: "", end: "/>")
        properties = kind.properties.map { property in
            let shape = model.version2Shape(of: property.type)
            return Property(
                element: AtomElement(property.name, shape), position: property.position, type: property.type,
                shape: shape, members: property.members)
        }
        navigation = kind.navigation.map { navigation in
            let expansion = navigation.expansion.map { ($0.position, AtomLevel($0.level, model: model)) }
            return Navigation(
                name: navigation.name, isCollection: navigation.isCollection,
                link: AtomMarkup.link(
                    [
                        ("rel", AtomName.related + navigation.name),
                        ("type", "application/atom+xml;type=\(navigation.isCollection ? "feed" : "entry")"),
                        ("title", navigation.name),
                    ], suffix: "/\(navigation.name)", end: expansion == nil ? "/>" : "><m:inline>"),
                expansion: expansion)
        }
    }
}

/// A property's element, whose name and type are the same for every entry.
struct AtomElement {
    private let name: String
    let open: [UInt8]
    let close: [UInt8]
    let null: [UInt8]

    /// A text has no type: it is what a property is that says nothing.
    init(_ name: String, _ shape: Version2Shape) {
        self.name = name
        let type = shape.typeName == "Edm.String" ? "" : " m:type=\"\(shape.typeName)\""
        open = Array("<d:\(name)\(type)>".utf8)
        close = Array("</d:\(name)>".utf8)
        null = Array("<d:\(name)\(type) m:null=\"true\"/>".utf8)
    }

    /// For a value of a type derived from the property's.
    func open(as type: String) -> [UInt8] { Array("<d:\(name) m:type=\"\(type)\">".utf8) }
}

/// Markup of names that come from the model, which are XML names.
enum AtomMarkup {
    static func element(_ name: String, _ attributes: [(String, String)]) -> [UInt8] {
        Array("<\(name)\(text(attributes))/>".utf8)
    }

    static func link(_ attributes: [(String, String)], suffix: String, end: String) -> AtomKind.Link {
        AtomKind.Link(
            before: Array("<link\(text(attributes)) href=\"".utf8), after: Array("\(suffix)\"\(end)".utf8))
    }

    private static func text(_ attributes: [(String, String)]) -> String {
        attributes.map { " \($0)=\"\($1)\"" }.joined()
    }
}
