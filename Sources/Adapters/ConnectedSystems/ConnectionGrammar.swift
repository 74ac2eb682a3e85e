import AdapterKit
import CSV
import HostConfiguration

/// The keys of a connection file.
enum ConnectionGrammar {
    static let file = FileSection(
        name: "connection",
        keys: [
            .init("title", text, isRequired: true, "The name to show to people."),
            .init("summary", text, "One sentence that says what the adapter offers."),
            .init(
                "upstream", text, "The system, by its name below `upstreams`. Not needed where all entities are files."),
            .init("access", .value(.access), "Who may read and write; `adapters.{name}.access` goes over it."),
            .init("headers", .named(text), "Header fields of every request."),
            .init("entities", .named(.section(entity)), "Kinds of records, by their names."),
            .init("operations", .named(.section(operation)), "What the system is asked for each time, by their names."),
        ])

    static let formats = DocumentFormat.allCases.map(\.rawValue)

    private static let entity = FileSection(
        name: "entity",
        keys: [
            .init("summary", text, "One sentence that says what a record is."),
            .init("address", .template, "Where the list is, relative to the upstream's `url`."),
            .init("query", .named(.template), "Members of the address's query."),
            .init("file", text, "A file instead of an address, relative to this file."),
            .init("format", .value(.choice(formats)), "The format of answers: json where nothing is said."),
            .init(
                "separator", .value(.choice(CSVSeparator.allCases.map(\.name))),
                "What stands between the fields of csv: comma where nothing is said."),
            .init(
                "mediaTypes", .value(.list(of: .text)),
                "Media types that answers have besides those of the format, such as text/plain."),
            .init("success", .path, "Where an answer says whether it succeeded; anything but true is a failure."),
            .init("list", .path, "Where the list stands in an answer; nothing: the answer is the list."),
            .init("key", text, isRequired: true, "The field that identifies a record."),
            .init(
                "fields", .named(.textOr(field)), isRequired: true, "The fields by their names: a type, or more of it."),
            .init(
                "deleted", .path,
                "Where a row says that it is gone: true or 1 there, or a date. Anything but false, 0, null and nothing is reported."
            ),
            .init("paging", .section(paging), "How pages follow; without it the answer has all rows."),
            .init("changes", .section(changes), "How changes alone are asked for; without it every row is."),
            .init("record", .section(record), "How one record is read."),
            .init("write", .section(write), "How callers' changes are made in the system; without it they make none."),
            .init(
                "access", .value(.access), "Who may read and write its records, where that is not as for the others."),
            .init("owner", text, "The field with the account's name: callers see and change their own rows alone."),
            .init("indexes", .value(.list(of: .oneOrMore(.text))), "Fields, or lists of fields, that are indexed."),
            .init("search", .value(.list(of: .text)), "Text fields that full-text search covers."),
        ] + ages + [
            .init("refresh", .value(.duration), "How long after a refresh the next one begins; none does without it."),
            .init(
                "guard", .section(guarded),
                "A refresh that changes a larger share of the records is held back."),
        ])

    private static let ages: [FileSection.Key] = [
        .init("freshFor", .value(.duration), "Up to this age a read asks for no refresh: 5m."),
        .init("staleFor", .value(.duration), "Beyond this age nothing is served over HTTP: 7d."),
        .init("waitFor", .value(.duration), "How long a read waits for a refresh: 2s."),
    ]

    private static let guarded = FileSection(
        name: "guard",
        keys: [
            .init("share", .value(.number), "From 0 to 1: 0.5."),
            .init("from", .value(.integer(0...Int(Int32.max))), "From how many records on: 20."),
        ])

    private static let field = FileSection(
        name: "field",
        keys: [
            .init("type", .value(.choice(FieldType.names)), isRequired: true, "The type of its values."),
            .init("from", .path, "Where it stands in a row; the member of its name where nothing is said."),
            .init(
                "form", .value(.choice(DateForm.allCases.map(\.rawValue) + BooleanForm.allCases.map(\.rawValue))),
                "How a date is written: rfc3339; a boolean: literal, or number for 1 and 0."),
            .init("values", .value(.list(of: .text)), "The texts of a choice."),
            .init("maximumLength", .value(.integer(1...FieldType.longestText)), "Characters of a text."),
            .init("required", .value(.flag), "Whether a row without it is not taken, and callers have to give it."),
            .init("summary", text, "One sentence for descriptions."),
        ])

    private static let paging = FileSection(
        name: "paging",
        keys: [
            .init(
                "kind", .value(.choice(["offset", "page", "cursor", "link"])), isRequired: true,
                "What the next page is asked for with."),
            .init("query", text, "The member of the query that has the offset, the page's number or the cursor."),
            .init("limit", text, "The member of the query that has the number of rows of a page."),
            .init("size", .value(.integer(1...100_000)), "The number of rows of a page."),
            .init("first", .value(.integer(0...1)), "`page`: the number of the first page: 1."),
            .init("total", .path, "`offset`, `page`: where the answer has the number of all rows."),
            .init(
                "next", .path, "`cursor`, `link`: where the answer has the next cursor or address; `link`: else `Link`."
            ),
            .init("last", text, "`cursor`: the field of a page's last row that is the cursor."),
            .init("more", .path, "`cursor`: where the answer says whether there is a further page."),
            .init(
                "end", .value(.list(of: .integer(200...499))),
                "Statuses of a page after the first that say that there are no further rows."),
        ])

    private static let changes = FileSection(
        name: "changes",
        keys: [
            .init("field", text, isRequired: true, "The field whose largest value is where the next refresh goes on."),
            .init("query", .named(.template), isRequired: true, "Members of the query, with that field in a template."),
            .init("full", .value(.duration), "After how long every row is fetched, to find what was deleted: 1d."),
        ])

    private static let record = FileSection(
        name: "record",
        keys: [
            .init("address", .template, isRequired: true, "Its address, with the key's field in a template."),
            .init("query", .named(.template), "Members of the address's query."),
            .init("item", .path, "Where the record stands in the answer."),
        ])

    private static let write = FileSection(
        name: "write",
        keys: [
            .init(
                "mode", .value(.choice(["through", "queued"])), isRequired: true,
                "`through`: a change over HTTP is made in the system first; `queued`: it is stored at once."),
            .init(
                "idempotencyKeys", .value(.flag),
                "Whether the system makes a change once however often it gets its Idempotency-Key."),
            .init("create", .section(request), "How a record is created."),
            .init("update", .section(request), "How a record is changed."),
            .init("delete", .section(request), "How a record is deleted."),
        ])

    private static let request = FileSection(
        name: "request",
        keys: [
            .init(
                "method", .value(.choice(["GET", "POST", "PUT", "PATCH", "DELETE"])), isRequired: true, "The method."),
            .init("address", .template, isRequired: true, "The address, relative to the upstream's `url`."),
            .init("query", .named(.template), "Members of the address's query."),
            .init("body", .content, "A mapping with templates in its texts; a text for XML."),
            .init("as", .value(.choice(BodyFormat.allCases.map(\.rawValue))), "The format of the body: json."),
            .init(
                "changedOnly", .value(.flag),
                "Whether members of an update's body whose fields do not change are left out: so it is with PATCH."),
            .init(
                "ifMatch", .value(.flag),
                "Whether `record` is read before an update or a deletion, and its ETag sent as If-Match."),
            .init("item", .path, "Where the record stands in the answer."),
        ])

    private static let operation = FileSection(
        name: "operation",
        keys: [
            .init("summary", text, isRequired: true, "One sentence that says what it does."),
            .init(
                "effect", .value(.choice(["reads", "writes"])), "Whether it changes anything: GET reads, others write."),
            .init("input", .named(.textOr(field)), "The members of the input."),
            .init("request", .section(request), isRequired: true, "What the system is asked."),
            .init("format", .value(.choice(formats)), "The format of answers: json where nothing is said."),
            .init(
                "separator", .value(.choice(CSVSeparator.allCases.map(\.name))),
                "What stands between the fields of csv: comma where nothing is said."),
            .init("success", .path, "Where an answer says whether it succeeded; anything but true is a failure."),
            .init("list", .path, "Where a list stands in the answer: the operation answers `items`."),
            .init(
                "fields", .named(.textOr(field)), isRequired: true, "The fields of the answer, or of each of its items."
            ),
        ] + ages)

    private static let text = FileGrammar.value(.text)
}

/// The grammar of a connection file.
public enum ConnectionFileSchema {
    /// The JSON Schema of connection files, for editors.
    public static var value: WireValue {
        ConnectionGrammar.file.jsonSchema(title: "A system that is connected to Portico (docs/connect.md)")
    }
}
