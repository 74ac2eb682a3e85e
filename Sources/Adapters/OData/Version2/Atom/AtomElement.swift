import ODataModel

/// A property's element, whose name and type are the same for every entry.
struct AtomElement {
    private let name: String
    let open: String
    let close: String
    let null: String

    /// A text has no type: it is what a property is that says nothing.
    init(_ name: String, _ shape: Version2Shape) {
        self.name = name
        let type = shape.typeName == "Edm.String" ? "" : " m:type=\"\(shape.typeName)\""
        open = "<d:\(name)\(type)>"
        close = "</d:\(name)>"
        null = "<d:\(name)\(type) m:null=\"true\"/>"
    }

    /// For a value of a type derived from the property's.
    func open(as type: String) -> String { "<d:\(name) m:type=\"\(type)\">" }
}
