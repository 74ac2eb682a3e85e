import SyncMessages
import Testing
import ValueTree
import WireFormats

/// Devices in the field read and write these bytes: a message of each kind, as the code of 2026-11 wrote it.
@Suite struct SyncMessageBytesTests {
    struct BytesCase: CustomTestStringConvertible {
        let testDescription: String
        let texts: [(format: any WireFormat, text: String)]
        let reread: @Sendable (WireValue) throws -> WireValue

        init<Message: SyncMessage>(_ type: Message.Type, json: String, propertyList: String, xml: String) {
            testDescription = "\(type)"
            texts = [
                (JSONFormat(), json), (XMLPropertyListFormat(), propertyList + "\n"), (XMLFormat(), xml),
            ]
            reread = { try Message(from: $0).wireValue }
        }
    }

    @Test(arguments: cases)
    func `a sync message is the same bytes as ever in each format, read and written`(_ message: BytesCase) throws {
        for (format, text) in message.texts {
            let value = try message.reread(format.read(Array(text.utf8)))
            #expect(String(decoding: try format.write(value), as: UTF8.self) == text)
            for (other, expected) in message.texts {
                #expect(String(decoding: try other.write(value), as: UTF8.self) == expected)
            }
        }
    }

    static let cases = [
        BytesCase(
            PullRequest.self,
            json: #"""
                {"checkpoint":"AQ","collections":["notes","rooms"],"limit":50,"refetch":["notes"]}
                """#,
            propertyList: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                	<key>checkpoint</key>
                	<string>AQ</string>
                	<key>collections</key>
                	<array>
                		<string>notes</string>
                		<string>rooms</string>
                	</array>
                	<key>limit</key>
                	<integer>50</integer>
                	<key>refetch</key>
                	<array>
                		<string>notes</string>
                	</array>
                </dict>
                </plist>
                """#,
            xml: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <value xmlns:v="urn:portico:value" v:type="dictionary"><checkpoint>AQ</checkpoint><collections v:type="array"><item>notes</item><item>rooms</item></collections><limit v:type="int">50</limit><refetch v:type="array"><item>notes</item></refetch></value>
                """#),
        BytesCase(
            PullPage.self,
            json: #"""
                {"reset":["rooms"],"operations":[{"collection":"notes","id":"n1","rev":42,"operation":"put","fields":{"title":"Ä & <b>\"1\"</b>","done":true,"count":9007199254740993,"share":0.1,"tags":["x",""],"nested":{"a":1}}},{"collection":"notes","id":"n2","rev":43,"operation":"remove"}],"complete":{"checkpoint":"Ag","position":43,"scopes":[{"scope":"notes","count":1,"checksum":"00ff00ff00ff00ff"}]}}
                """#,
            propertyList: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                	<key>reset</key>
                	<array>
                		<string>rooms</string>
                	</array>
                	<key>operations</key>
                	<array>
                		<dict>
                			<key>collection</key>
                			<string>notes</string>
                			<key>id</key>
                			<string>n1</string>
                			<key>rev</key>
                			<integer>42</integer>
                			<key>operation</key>
                			<string>put</string>
                			<key>fields</key>
                			<dict>
                				<key>title</key>
                				<string>Ä &amp; &lt;b&gt;"1"&lt;/b&gt;</string>
                				<key>done</key>
                				<true/>
                				<key>count</key>
                				<integer>9007199254740993</integer>
                				<key>share</key>
                				<real>0.1</real>
                				<key>tags</key>
                				<array>
                					<string>x</string>
                					<string></string>
                				</array>
                				<key>nested</key>
                				<dict>
                					<key>a</key>
                					<integer>1</integer>
                				</dict>
                			</dict>
                		</dict>
                		<dict>
                			<key>collection</key>
                			<string>notes</string>
                			<key>id</key>
                			<string>n2</string>
                			<key>rev</key>
                			<integer>43</integer>
                			<key>operation</key>
                			<string>remove</string>
                		</dict>
                	</array>
                	<key>complete</key>
                	<dict>
                		<key>checkpoint</key>
                		<string>Ag</string>
                		<key>position</key>
                		<integer>43</integer>
                		<key>scopes</key>
                		<array>
                			<dict>
                				<key>scope</key>
                				<string>notes</string>
                				<key>count</key>
                				<integer>1</integer>
                				<key>checksum</key>
                				<string>00ff00ff00ff00ff</string>
                			</dict>
                		</array>
                	</dict>
                </dict>
                </plist>
                """#,
            xml: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <value xmlns:v="urn:portico:value" v:type="dictionary"><reset v:type="array"><item>rooms</item></reset><operations v:type="array"><item v:type="dictionary"><collection>notes</collection><id>n1</id><rev v:type="int">42</rev><operation>put</operation><fields v:type="dictionary"><title>Ä &amp; &lt;b&gt;"1"&lt;/b&gt;</title><done v:type="bool">true</done><count v:type="int">9007199254740993</count><share v:type="real">0.1</share><tags v:type="array"><item>x</item><item></item></tags><nested v:type="dictionary"><a v:type="int">1</a></nested></fields></item><item v:type="dictionary"><collection>notes</collection><id>n2</id><rev v:type="int">43</rev><operation>remove</operation></item></operations><complete v:type="dictionary"><checkpoint>Ag</checkpoint><position v:type="int">43</position><scopes v:type="array"><item v:type="dictionary"><scope>notes</scope><count v:type="int">1</count><checksum>00ff00ff00ff00ff</checksum></item></scopes></complete></value>
                """#),
        BytesCase(
            PushRequest.self,
            json: #"""
                {"clientId":"3666c85a-ee8a-4cbb-a916-885924c16427","checkpoint":"AQ","mutations":[{"sequence":1,"operation":"create","collection":"notes","id":"n1","fields":{"title":"first"}},{"sequence":2,"operation":"update","collection":"notes","id":"n1","baseRev":42,"fields":{"title":""}},{"sequence":3,"operation":"delete","collection":"notes","id":"n2","baseRev":43}]}
                """#,
            propertyList: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                	<key>clientId</key>
                	<string>3666c85a-ee8a-4cbb-a916-885924c16427</string>
                	<key>checkpoint</key>
                	<string>AQ</string>
                	<key>mutations</key>
                	<array>
                		<dict>
                			<key>sequence</key>
                			<integer>1</integer>
                			<key>operation</key>
                			<string>create</string>
                			<key>collection</key>
                			<string>notes</string>
                			<key>id</key>
                			<string>n1</string>
                			<key>fields</key>
                			<dict>
                				<key>title</key>
                				<string>first</string>
                			</dict>
                		</dict>
                		<dict>
                			<key>sequence</key>
                			<integer>2</integer>
                			<key>operation</key>
                			<string>update</string>
                			<key>collection</key>
                			<string>notes</string>
                			<key>id</key>
                			<string>n1</string>
                			<key>baseRev</key>
                			<integer>42</integer>
                			<key>fields</key>
                			<dict>
                				<key>title</key>
                				<string></string>
                			</dict>
                		</dict>
                		<dict>
                			<key>sequence</key>
                			<integer>3</integer>
                			<key>operation</key>
                			<string>delete</string>
                			<key>collection</key>
                			<string>notes</string>
                			<key>id</key>
                			<string>n2</string>
                			<key>baseRev</key>
                			<integer>43</integer>
                		</dict>
                	</array>
                </dict>
                </plist>
                """#,
            xml: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <value xmlns:v="urn:portico:value" v:type="dictionary"><clientId>3666c85a-ee8a-4cbb-a916-885924c16427</clientId><checkpoint>AQ</checkpoint><mutations v:type="array"><item v:type="dictionary"><sequence v:type="int">1</sequence><operation>create</operation><collection>notes</collection><id>n1</id><fields v:type="dictionary"><title>first</title></fields></item><item v:type="dictionary"><sequence v:type="int">2</sequence><operation>update</operation><collection>notes</collection><id>n1</id><baseRev v:type="int">42</baseRev><fields v:type="dictionary"><title></title></fields></item><item v:type="dictionary"><sequence v:type="int">3</sequence><operation>delete</operation><collection>notes</collection><id>n2</id><baseRev v:type="int">43</baseRev></item></mutations></value>
                """#),
        BytesCase(
            PushResponse.self,
            json: #"""
                {"outcomes":[{"sequence":1,"outcome":"applied","rev":42},{"sequence":2,"outcome":"conflict","rev":44,"record":{"id":"n1","rev":44,"fields":{"title":"theirs"}},"reason":"record.conflict","message":"The record is another."}],"checkpoint":"Ag","position":44}
                """#,
            propertyList: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                	<key>outcomes</key>
                	<array>
                		<dict>
                			<key>sequence</key>
                			<integer>1</integer>
                			<key>outcome</key>
                			<string>applied</string>
                			<key>rev</key>
                			<integer>42</integer>
                		</dict>
                		<dict>
                			<key>sequence</key>
                			<integer>2</integer>
                			<key>outcome</key>
                			<string>conflict</string>
                			<key>rev</key>
                			<integer>44</integer>
                			<key>record</key>
                			<dict>
                				<key>id</key>
                				<string>n1</string>
                				<key>rev</key>
                				<integer>44</integer>
                				<key>fields</key>
                				<dict>
                					<key>title</key>
                					<string>theirs</string>
                				</dict>
                			</dict>
                			<key>reason</key>
                			<string>record.conflict</string>
                			<key>message</key>
                			<string>The record is another.</string>
                		</dict>
                	</array>
                	<key>checkpoint</key>
                	<string>Ag</string>
                	<key>position</key>
                	<integer>44</integer>
                </dict>
                </plist>
                """#,
            xml: #"""
                <?xml version="1.0" encoding="UTF-8"?>
                <value xmlns:v="urn:portico:value" v:type="dictionary"><outcomes v:type="array"><item v:type="dictionary"><sequence v:type="int">1</sequence><outcome>applied</outcome><rev v:type="int">42</rev></item><item v:type="dictionary"><sequence v:type="int">2</sequence><outcome>conflict</outcome><rev v:type="int">44</rev><record v:type="dictionary"><id>n1</id><rev v:type="int">44</rev><fields v:type="dictionary"><title>theirs</title></fields></record><reason>record.conflict</reason><message>The record is another.</message></item></outcomes><checkpoint>Ag</checkpoint><position v:type="int">44</position></value>
                """#),
    ]
}
