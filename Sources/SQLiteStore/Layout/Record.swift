import AdapterKit

/// In this room a record is AdapterKit's; GRDB has a class of that name.
typealias Record = AdapterKit.Record
