/// The model that generated requests are made for: entity sets, types and operations of each kind.
public enum FuzzedService {
    public static let csdl = """
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="F">
          <EnumType Name="State" IsFlags="true"><Member Name="New" Value="1"/><Member Name="Sold" Value="2"/></EnumType>
          <ComplexType Name="Place"><Property Name="City" Type="Edm.String"/><Property Name="Zip" Type="Edm.Int32"/>
          </ComplexType>
          <EntityType Name="Thing"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Name" Type="Edm.String"/>
            <Property Name="Text" Type="Edm.String"/><Property Name="Price" Type="Edm.Decimal" Scale="variable"/>
            <Property Name="Weight" Type="Edm.Double"/><Property Name="Count" Type="Edm.Int64"/>
            <Property Name="Made" Type="Edm.Date"/><Property Name="Seen" Type="Edm.DateTimeOffset"/>
            <Property Name="Opens" Type="Edm.TimeOfDay"/><Property Name="Takes" Type="Edm.Duration"/>
            <Property Name="Tag" Type="Edm.Guid"/><Property Name="State" Type="F.State"/>
            <Property Name="Place" Type="F.Place"/><Property Name="Marks" Type="Collection(Edm.Int32)"/>
            <Property Name="Where" Type="Edm.GeographyPoint"/><Property Name="KindID" Type="Edm.Int32"/>
            <NavigationProperty Name="Kind" Type="F.Kind" Partner="Things">
              <ReferentialConstraint Property="KindID" ReferencedProperty="ID"/></NavigationProperty>
            <NavigationProperty Name="Near" Type="Collection(F.Thing)"/>
            <Annotation Term="Org.OData.Aggregation.V1.RecursiveHierarchy" Qualifier="Net"><Record>
              <PropertyValue Property="NodeProperty" PropertyPath="ID"/>
              <PropertyValue Property="ParentNavigationProperty" NavigationPropertyPath="Near"/></Record></Annotation>
          </EntityType>
          <EntityType Name="Rare" BaseType="F.Thing"><Property Name="Why" Type="Edm.String"/></EntityType>
          <EntityType Name="Kind"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Name" Type="Edm.String"/>
            <Property Name="AboveID" Type="Edm.Int32"/>
            <NavigationProperty Name="Above" Type="F.Kind">
              <ReferentialConstraint Property="AboveID" ReferencedProperty="ID"/></NavigationProperty>
            <NavigationProperty Name="Things" Type="Collection(F.Thing)" Partner="Kind"/>
            <Annotation Term="Org.OData.Aggregation.V1.RecursiveHierarchy" Qualifier="Tree"><Record>
              <PropertyValue Property="NodeProperty" PropertyPath="ID"/>
              <PropertyValue Property="ParentNavigationProperty" NavigationPropertyPath="Above"/></Record></Annotation>
          </EntityType>
          <EntityContainer Name="C"><EntitySet Name="Things" EntityType="F.Thing"/>
            <EntitySet Name="Kinds" EntityType="F.Kind"/></EntityContainer>
        </Schema></edmx:DataServices></edmx:Edmx>
        """
}
