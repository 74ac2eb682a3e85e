extension GrammarRule {
    /// Section 2: query options.
    static let options: [GrammarRule] = [
        GrammarRule("queryOptions") { parser throws(Mismatch) in try parser.queryOptions() },
        GrammarRule("queryOption") { parser throws(Mismatch) in try parser.queryOption(.top) },
        GrammarRule("systemQueryOption") { parser throws(Mismatch) in try parser.systemQueryOption() },
        GrammarRule("customQueryOption") { parser throws(Mismatch) in try parser.customOption() },
        GrammarRule("filter") { parser throws(Mismatch) in try parser.option(.filter) },
        GrammarRule("orderby") { parser throws(Mismatch) in try parser.option(.orderby) },
        GrammarRule("select") { parser throws(Mismatch) in try parser.option(.select) },
        GrammarRule("expand") { parser throws(Mismatch) in try parser.option(.expand) },
        GrammarRule("compute") { parser throws(Mismatch) in try parser.option(.compute) },
        GrammarRule("search") { parser throws(Mismatch) in try parser.option(.search) },
        GrammarRule("skip") { parser throws(Mismatch) in try parser.option(.skip) },
        GrammarRule("top") { parser throws(Mismatch) in try parser.option(.top) },
        GrammarRule("index") { parser throws(Mismatch) in try parser.option(.index) },
        GrammarRule("format") { parser throws(Mismatch) in try parser.option(.format) },
        GrammarRule("inlinecount") { parser throws(Mismatch) in try parser.option(.count) },
        GrammarRule("levels") { parser throws(Mismatch) in try parser.option(.levels) },
        GrammarRule("id") { parser throws(Mismatch) in try parser.option(.id) },
        GrammarRule("schemaversion") { parser throws(Mismatch) in try parser.option(.schemaversion) },
        GrammarRule("deltatoken") { parser throws(Mismatch) in try parser.option(.deltatoken) },
        GrammarRule("skiptoken") { parser throws(Mismatch) in try parser.option(.skiptoken) },
        GrammarRule("apply") { parser throws(Mismatch) in try parser.option(.apply) },
        GrammarRule("searchExpr") { parser throws(Mismatch) in try parser.searchExpression() },
        GrammarRule("orderbyItem") { parser throws(Mismatch) in try parser.orderItems() },
        GrammarRule("computeItem") { parser throws(Mismatch) in try parser.computeItems() },
        GrammarRule("selectItem") { parser throws(Mismatch) in try parser.selectItem() },
        GrammarRule("expandItem") { parser throws(Mismatch) in try parser.expandItem() },
        GrammarRule("parameterValue") { parser throws(Mismatch) in try parser.valueInURL() },
    ]

    /// The aggregation extension's.
    static let steps: [GrammarRule] = [
        GrammarRule("applyExpr") { parser throws(Mismatch) in try parser.transformations() },
        GrammarRule("applyTrafo") { parser throws(Mismatch) in try parser.transformations() },
        GrammarRule("aggregateExpr") { parser throws(Mismatch) in try parser.aggregateExpression(aliased: true) },
        GrammarRule("groupingProperty") { parser throws(Mismatch) in try parser.namePath(endingInType: false) },
        GrammarRule("isdefinedExpr") { parser throws(Mismatch) in try parser.expression("`isdefined`", \.isDefinition)
        },
        GrammarRule("aggregateFunctionExpr") { parser throws(Mismatch) in try parser.aggregateExpression(aliased: false)
        },
    ]
}
