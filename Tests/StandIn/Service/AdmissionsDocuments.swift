import AdapterKit
import GRDB
import WireFormats

/// The documents of the admissions services, as SAP's gateway (2.0) and OASIS' examples (4.0) have them.
struct AdmissionsDocuments: Sendable {
    enum Version: Sendable {
        case version2, version4
    }

    let version: Version
    /// With a slash at its end.
    let root: String
    /// Version 4: decimals as texts.
    var isIEEE754Compatible = false

    static let namespace = "ADMISSIONSCOUNSELOR"
    private var isVersion2: Bool { version == .version2 }

    func setName(_ table: AdmissionsTable) -> String { isVersion2 ? table.collection : table.name }

    func address(_ table: AdmissionsTable, _ key: String) -> String {
        // No key of the rows has a character that an address escapes.
        "\(root)\(setName(table))(\(table.hasTextKey ? "'\(key)'" : key))"
    }

    static func tag(_ row: Row) -> String {
        let revision: Int64 = row["revision"]
        return "W/\"\(revision)\""
    }

    static func key(_ row: Row, of table: AdmissionsTable) -> String {
        if table.hasTextKey { return row[table.key] }
        let number: Int64 = row[table.key]
        return String(number)
    }

    func columns(_ table: AdmissionsTable) -> [AdmissionsColumn] {
        table.columns.filter { column in
            guard isVersion2 else { return true }
            if case .texts = column.kind { return false }
            return column.name != "FormerCollege"
        }
    }

    /// One entity as JSON. `names`: what was selected; nil: everything.
    func entity(_ row: Row, _ table: AdmissionsTable, _ names: Set<String>?) -> WireDictionary {
        var entity = WireDictionary()
        let key = Self.key(row, of: table)
        if isVersion2 {
            entity["__metadata"] = [
                "id": .string(address(table, key)), "uri": .string(address(table, key)),
                "type": .string("\(Self.namespace).\(table.type)"), "etag": .string(Self.tag(row)),
            ]
        } else {
            entity["@odata.etag"] = .string(Self.tag(row))
            if isTransfer(row, table) { entity["@odata.type"] = .string("#\(Self.namespace).Transfer") }
        }
        for column in columns(table) where names?.contains(column.complex ?? column.name) ?? true {
            if column.name == "FormerCollege", !isTransfer(row, table) { continue }
            let value = value(row, column)
            guard let complex = column.complex else {
                entity[column.name] = value
                continue
            }
            var members = entity[complex]?.dictionaryValue ?? [:]
            if isVersion2, members["__metadata"] == nil {
                members["__metadata"] = ["type": .string("\(Self.namespace).\(complex)")]
            }
            members[column.name] = value
            entity[complex] = .dictionary(members)
        }
        if isVersion2 {
            for navigation in table.navigations where names?.contains(navigation.name) ?? true {
                entity[navigation.name] = [
                    "__deferred": ["uri": .string("\(address(table, key))/\(navigation.name)")]
                ]
            }
        }
        return entity
    }

    private func isTransfer(_ row: Row, _ table: AdmissionsTable) -> Bool {
        guard table.name == "Students" else { return false }
        let college: String? = row["FormerCollege"]
        return college != nil
    }

    private func value(_ row: Row, _ column: AdmissionsColumn) -> WireValue {
        let name = column.sql
        switch column.kind {
        case .text, .guid: return (row[name] as String?).map(WireValue.string) ?? .null
        case .int32: return (row[name] as Int64?).map(WireValue.int64) ?? .null
        case .flag: return (row[name] as Int64?).map { .bool($0 != 0) } ?? .null
        case .decimal:
            guard let text = row[name] as String? else { return .null }
            if isVersion2 || isIEEE754Compatible { return .string(text) }
            return WireDecimal(text).map(WireValue.decimal) ?? .null
        case .day:
            guard let day = row[name] as String? else { return .null }
            guard isVersion2 else { return .string(day) }
            return Instants.milliseconds("\(day)T00:00:00Z").map { .string("/Date(\($0))/") } ?? .null
        case .instant:
            guard let time = row[name] as Int64? else { return .null }
            return .string(isVersion2 ? "/Date(\(time)+0000)/" : Instants.text(time))
        case .time:
            guard let time = row[name] as String? else { return .null }
            return .string(isVersion2 ? Instants.version2(time: time) : time)
        case .texts:
            guard let text = row[name] as String?, let list = try? JSONFormat().read(Array(text.utf8)) else {
                return []
            }
            return list
        }
    }
}

// MARK: Atom

extension AdmissionsDocuments {
    /// A feed of version 2, with the tombstones that its JSON has no place for.
    func feed(
        _ rows: [Row], _ table: AdmissionsTable, removed: [String] = [], next: String? = nil, delta: String? = nil
    ) -> String {
        var text = """
            <?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom" \
            xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" \
            xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xml:base="\(root)">\
            <id>\(root)\(setName(table))</id><title type="text">\(setName(table))</title>\
            <updated>2026-01-01T00:00:00Z</updated>
            """
        if let next { text += "<link href=\"\(next.escapedForXML)\" rel=\"next\"/>" }
        if let delta { text += "<link href=\"\(delta.escapedForXML)\" rel=\"delta\"/>" }
        for row in rows { text += entry(row, table) }
        for key in removed {
            text += """
                <at:deleted-entry xmlns:at="http://purl.org/atompub/tombstones/1.0" \
                ref="\(address(table, key).escapedForXML)" when="2026-01-01T00:00:00Z"/>
                """
        }
        return text + "</feed>"
    }

    private func entry(_ row: Row, _ table: AdmissionsTable) -> String {
        let place = address(table, Self.key(row, of: table)).escapedForXML
        var text = """
            <entry m:etag="\(Self.tag(row).escapedForXML)"><id>\(place)</id><title type="text">\(setName(table))</title>\
            <updated>2026-01-01T00:00:00Z</updated><category term="\(Self.namespace).\(table.type)" \
            scheme="http://schemas.microsoft.com/ado/2007/08/dataservices/scheme"/>\
            <content type="application/xml"><m:properties>
            """
        var complex: String?
        for column in columns(table) {
            if column.complex != complex {
                if let complex { text += "</d:\(complex)>" }
                if let name = column.complex { text += "<d:\(name) m:type=\"\(Self.namespace).\(name)\">" }
                complex = column.complex
            }
            text += element(row, column)
        }
        if let complex { text += "</d:\(complex)>" }
        return text + "</m:properties></content></entry>"
    }

    private func element(_ row: Row, _ column: AdmissionsColumn) -> String {
        let content: String?
        switch column.kind {
        case .day: content = (row[column.sql] as String?).map { "\($0)T00:00:00" }
        case .instant: content = (row[column.sql] as Int64?).map(Instants.text)
        case .time: content = (row[column.sql] as String?).map(Instants.version2(time:))
        case .flag: content = (row[column.sql] as Int64?).map { $0 != 0 ? "true" : "false" }
        case .int32: content = (row[column.sql] as Int64?).map { String($0) }
        case .text, .decimal, .guid, .texts: content = row[column.sql]
        }
        guard let content else { return "<d:\(column.name) m:null=\"true\"/>" }
        return "<d:\(column.name)>\(content.escapedForXML)</d:\(column.name)>"
    }
}

// MARK: Metadata

extension AdmissionsDocuments {
    var metadata: String { isVersion2 ? metadata2 : metadata4 }

    private func property(_ column: AdmissionsColumn, of table: AdmissionsTable) -> String {
        let type: String
        switch column.kind {
        case .text(let length): type = "Edm.String\" MaxLength=\"\(length)"
        case .int32: type = "Edm.Int32"
        case .flag: type = "Edm.Boolean"
        case .guid: type = "Edm.Guid"
        case .decimal(let precision, let scale): type = "Edm.Decimal\" Precision=\"\(precision)\" Scale=\"\(scale)"
        case .day: type = isVersion2 ? "Edm.DateTime\" Precision=\"0\" sap:display-format=\"Date" : "Edm.Date"
        case .instant: type = isVersion2 ? "Edm.DateTimeOffset" : "Edm.DateTimeOffset\" Precision=\"3"
        case .time: type = isVersion2 ? "Edm.Time" : "Edm.TimeOfDay"
        case .texts: type = "Collection(Edm.String)"
        }
        let isChosen = table.name == "Students" && column.name == table.key
        let computed =
            isVersion2 ? "" : "<Annotation Term=\"Org.OData.Core.V1.Computed\" Bool=\"true\"/>"
        let attributes = isVersion2 && isChosen ? " sap:creatable=\"false\" sap:updatable=\"false\"" : ""
        let nullable = column.isNullable ? "" : " Nullable=\"false\""
        let start = "<Property Name=\"\(column.name)\" Type=\"\(type)\"\(nullable)\(attributes)"
        return isChosen && !isVersion2 ? "\(start)>\(computed)</Property>" : "\(start)/>"
    }

    private func properties(_ table: AdmissionsTable) -> String {
        var text = ""
        var complex: Set<String> = []
        for column in columns(table) where column.name != "FormerCollege" {
            if let name = column.complex {
                guard complex.insert(name).inserted else { continue }
                let nullable = isVersion2 ? " Nullable=\"false\"" : ""
                text += "<Property Name=\"\(name)\" Type=\"\(Self.namespace).\(name)\"\(nullable)/>"
            } else {
                text += property(column, of: table)
            }
        }
        return text
    }

    private var complexTypes: String {
        let students = AdmissionsTable.students
        let members = columns(students).filter { $0.complex == "Address" }.map { property($0, of: students) }
        return "<ComplexType Name=\"Address\">\(members.joined())</ComplexType>"
    }

    private var metadata2: String {
        var types = ""
        var sets = ""
        var associations = ""
        var associationSets = ""
        for table in AdmissionsTable.all {
            var navigations = ""
            for navigation in table.navigations {
                guard let target = AdmissionsTable.named(navigation.target, isVersion2: false) else { continue }
                let isBack = if case .many = navigation.kind { true } else { false }
                // One association has both directions, as SAP's models do.
                let back = isBack ? target.navigations.first { $0.target == table.name } : nil
                let name = back.map { "\(target.type)_\($0.name)" } ?? "\(table.type)_\(navigation.name)"
                navigations += """
                    <NavigationProperty Name="\(navigation.name)" Relationship="\(Self.namespace).\(name)" \
                    FromRole="\(isBack ? "To" : "From")" ToRole="\(isBack ? "From" : "To")"/>
                    """
                guard back == nil else { continue }
                var multiplicity = "*"
                var constraint = ""
                if case .one(let column) = navigation.kind {
                    multiplicity = "0..1"
                    constraint = """
                        <ReferentialConstraint><Principal Role="To"><PropertyRef Name="\(target.key)"/></Principal>\
                        <Dependent Role="From"><PropertyRef Name="\(column)"/></Dependent></ReferentialConstraint>
                        """
                }
                associations += """
                    <Association Name="\(name)"><End Type="\(Self.namespace).\(table.type)" Multiplicity="*" \
                    Role="From"/><End Type="\(Self.namespace).\(target.type)" Multiplicity="\(multiplicity)" Role="To"/>\
                    \(constraint)</Association>
                    """
                associationSets += """
                    <AssociationSet Name="\(name)Set" Association="\(Self.namespace).\(name)">\
                    <End EntitySet="\(table.collection)" Role="From"/><End EntitySet="\(target.collection)" Role="To"/>\
                    </AssociationSet>
                    """
            }
            types += """
                <EntityType Name="\(table.type)"><Key><PropertyRef Name="\(table.key)"/></Key>\(properties(table))\
                \(navigations)</EntityType>
                """
            sets += """
                <EntitySet Name="\(table.collection)" EntityType="\(Self.namespace).\(table.type)" sap:pageable="true" \
                sap:content-version="1"/>
                """
        }
        return """
            <?xml version="1.0" encoding="utf-8"?><edmx:Edmx Version="1.0" \
            xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx" \
            xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" \
            xmlns:sap="http://www.sap.com/Protocols/SAPData"><edmx:DataServices m:DataServiceVersion="2.0">\
            <Schema Namespace="\(Self.namespace)" xml:lang="en" sap:schema-version="1" \
            xmlns="http://schemas.microsoft.com/ado/2008/09/edm">\(types)\(complexTypes)\(associations)\
            <EntityContainer Name="\(Self.namespace)_Entities" m:IsDefaultEntityContainer="true">\(sets)\
            \(associationSets)\(AdmissionsFunction.imports2)</EntityContainer></Schema></edmx:DataServices></edmx:Edmx>
            """
    }

    private var metadata4: String {
        var types = ""
        var sets = ""
        for table in AdmissionsTable.all {
            var navigations = ""
            var bindings = ""
            for navigation in table.navigations {
                guard let target = AdmissionsTable.named(navigation.target, isVersion2: false) else { continue }
                let type = "\(Self.namespace).\(target.type)"
                bindings += "<NavigationPropertyBinding Path=\"\(navigation.name)\" Target=\"\(target.name)\"/>"
                let back = target.navigations.first { other in other.target == table.name }
                let partner = back.map { " Partner=\"\($0.name)\"" } ?? ""
                switch navigation.kind {
                case .one(let column):
                    navigations += """
                        <NavigationProperty Name="\(navigation.name)" Type="\(type)"\(partner)>\
                        <ReferentialConstraint Property="\(column)" ReferencedProperty="\(target.key)"/>\
                        </NavigationProperty>
                        """
                case .many, .linked:
                    navigations +=
                        "<NavigationProperty Name=\"\(navigation.name)\" Type=\"Collection(\(type))\"\(partner)/>"
                }
            }
            types += """
                <EntityType Name="\(table.type)"><Key><PropertyRef Name="\(table.key)"/></Key>\(properties(table))\
                \(navigations)</EntityType>
                """
            sets +=
                "<EntitySet Name=\"\(table.name)\" EntityType=\"\(Self.namespace).\(table.type)\">\(bindings)</EntitySet>"
        }
        return """
            <?xml version="1.0" encoding="utf-8"?><edmx:Edmx Version="4.0" \
            xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:Reference \
            Uri="https://oasis-tcs.github.io/odata-vocabularies/vocabularies/Org.OData.Core.V1.xml">\
            <edmx:Include Namespace="Org.OData.Core.V1"/></edmx:Reference><edmx:DataServices>\
            <Schema Namespace="\(Self.namespace)" xmlns="http://docs.oasis-open.org/odata/ns/edm">\(types)\
            <EntityType Name="Transfer" BaseType="\(Self.namespace).Student">\
            <Property Name="FormerCollege" Type="Edm.String" MaxLength="60"/></EntityType>\
            \(complexTypes)\(AdmissionsFunction.declarations4)<EntityContainer Name="Container">\(sets)\
            \(AdmissionsFunction.imports4)</EntityContainer></Schema>\
            </edmx:DataServices></edmx:Edmx>
            """
    }

    var serviceDocument: WireValue {
        let names = AdmissionsTable.all.map(setName)
        if isVersion2 { return ["d": ["EntitySets": .array(names.map { .string($0) })]] }
        return [
            "@odata.context": .string("\(root)$metadata"),
            "value": .array(names.map { ["name": .string($0), "kind": "EntitySet", "url": .string($0)] }),
        ]
    }
}
