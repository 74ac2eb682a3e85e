import ODataModel
import ODataQueries
import ODataRecords

/// Puts together what entries in Atom have in common.
struct AtomTemplate {
    private typealias Builder = RowTemplateBuilder<AtomRows.Form>

    private let level: Version2Level
    private let model: EntityDataModel

    init(_ level: Version2Level, _ model: EntityDataModel) {
        self.level = level
        self.model = model
    }

    var rows: RowLevel<AtomRows.Form> { .version2(level, template) }

    private func template(_ kind: Version2Level.Kind) -> RowTemplate<AtomRows.Form> {
        var builder = Builder()
        head(kind, to: &builder)
        for navigation in kind.navigation { related(navigation, to: &builder) }
        content(kind, to: &builder)
        builder.end()
        let properties = kind.byColumn { AtomProperty($0, model) }
        return RowTemplate(
            AtomRows.Form(level: level, values: AtomValues(model: model), properties: properties), builder)
    }

    private func head(_ kind: Version2Level.Kind, to builder: inout Builder) {
        builder.text("<id>")
        builder.given(AtomRows.Form.root)
        builder.address()
        builder.text("</id><title type=\"text\">")
        builder.address()
        builder.text("</title>")
        builder.given(AtomRows.Form.updated)
        builder.text(markup("category", [("term", kind.typeName), ("scheme", AtomName.scheme)]) + "/>")
        link([("rel", "edit"), ("title", kind.type.name.name)], suffix: "", end: "/>", to: &builder)
    }

    private func related(_ navigation: Version2Level.Navigation, to builder: inout Builder) {
        let name = navigation.name
        link(
            [
                ("rel", AtomName.related + name),
                ("type", "application/atom+xml;type=\(navigation.isCollection ? "feed" : "entry")"), ("title", name),
            ], suffix: "/\(name)", end: navigation.expansion == nil ? "/>" : "><m:inline>", to: &builder)
        guard let (position, inner) = navigation.expansion else { return }
        if navigation.isCollection { feed(of: inner, name, to: &builder) }
        let end = "</m:inline></link>"
        builder.level(
            AtomTemplate(inner, model).rows, at: position, isCollection: navigation.isCollection, before: "",
            after: navigation.isCollection ? "</feed>\(end)" : end, null: end)
    }

    /// Its begin.
    private func feed(of level: Version2Level, _ name: String, to builder: inout Builder) {
        builder.text("<feed><id>")
        builder.given(AtomRows.Form.root)
        builder.address()
        builder.text("/\(name)</id><title type=\"text\">\(level.table.source)</title>")
        builder.given(AtomRows.Form.updated)
    }

    private func content(_ kind: Version2Level.Kind, to builder: inout Builder) {
        guard kind.isMedia else {
            builder.text("<content type=\"application/xml\">")
            properties(kind, to: &builder)
            return builder.text("</content>")
        }
        builder.text("<link rel=\"edit-media\" type=\"")
        mediaType(to: &builder)
        builder.text("\" href=\"")
        builder.address()
        builder.text("/$value\"/><content type=\"")
        mediaType(to: &builder)
        builder.text("\" src=\"")
        builder.address()
        builder.text("/$value\"/>")
        properties(kind, to: &builder)
    }

    private func mediaType(to builder: inout Builder) {
        guard let column = level.mediaTypeColumn else { return builder.text(StreamHandler.standardType) }
        builder.value(.control, at: column, before: "", null: StreamHandler.standardType)
    }

    private func properties(_ kind: Version2Level.Kind, to builder: inout Builder) {
        guard !kind.properties.isEmpty else { return builder.text("<m:properties/>") }
        builder.text("<m:properties>")
        for property in kind.properties { value(property, to: &builder) }
        builder.text("</m:properties>")
    }

    /// The element of a complex value depends on what it is.
    private func value(_ property: Version2Level.Property, to builder: inout Builder) {
        let shape = model.version2Shape(of: property.type)
        let element = AtomElement(property.name, shape)
        let null = property.type.isCollection ? element.open + element.close : element.null
        if case .complex = shape { return builder.value(.other, at: property.position, before: "", null: null) }
        builder.value(
            content(property.simple), at: property.position, before: element.open, after: element.close, null: null)
    }

    private func content(_ type: Version2Type?) -> RowPart.Content {
        switch type {
        case .string, .guid: .text
        case .int64, .int32, .int16, .byte, .sByte: .integer
        default: .other
        }
    }

    private func link(
        _ attributes: [(String, String)], suffix: String, end: String, to builder: inout Builder
    ) {
        builder.text(markup("link", attributes) + " href=\"")
        builder.address()
        builder.text("\(suffix)\"\(end)")
    }

    /// Of names that come from the model, which are XML names.
    private func markup(_ name: String, _ attributes: [(String, String)]) -> String {
        "<\(name)" + attributes.map { " \($0)=\"\($1)\"" }.joined()
    }
}
