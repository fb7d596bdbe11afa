"""Word lists of the rule-based steps: small, readable, and the place to extend them."""

from __future__ import annotations

from nclue_construct.surface import squeeze

CONNECTORS = frozenset(["of", "and", "the", "for", "on", "in", "to", "&", "de", "du", "la", "des"])

FUNCTION_WORDS = frozenset(
    """a about above after against all also although an and any are as at be because been before
    being below between both but by can could did do does during each either every few for from
    further had has have he her here his how however i if in into is it its itself may might more
    most much must neither no nor not now of on once only or other our out over own same shall she
    should since so some such than that the their them then there therefore these they this those
    through thus to too toward towards under until up upon us was we were what when where whether
    which while who whom whose why will with within without would you your mr mrs ms dr see
    per via""".split()
)

# Words that make a run of capitalised words a name of something: an organisation, a law, a
# programme, a place. Names of persons have none of them and are never conditions.
ENTITY_TYPES = frozenset(
    """academy accord act administration agency agenda agreement alliance assembly assistance
    association authority bank board bureau center centre charter code college commission
    commissioner committee compact conference congress consortium constitution convention
    cooperation corporation corps council court declaration department directive directorate
    directory disease federation forum foundation framework front fund funds government group
    guard initiative institute institution institutions laboratory law league library ministry
    mission museum nations network office organisation organization pact panel parliament
    partnership plan police programme program project protocol registry regulation regulations
    reserve resolution river rule sea senate service services society standards statute strategy
    summit survey syndrome system taskforce treaty tribunal trust union university virus ocean
    lake gulf island islands peninsula basin""".split()
)

DISEASES = """COVID-19|Malaria|Tuberculosis|Cholera|Ebola|Measles|Poliomyelitis|Diabetes|HIV/AIDS
|Hepatitis|Pneumonia|Influenza|Dengue"""
GAZETTEER_NAMES = tuple(name.strip() for name in DISEASES.split("|"))
GAZETTEER = frozenset(squeeze(name) for name in GAZETTEER_NAMES)

# Wordings that mean the same and that no spelling rule finds.
KNOWN_ALIASES: dict[str, tuple[str, ...]] = {
    "COVID-19": (
        "COVID", "coronavirus disease", "coronavirus pandemic", "novel coronavirus", "SARS-CoV-2",
        "coronavirus",
    ),
    "HIV/AIDS": ("HIV", "AIDS", "human immunodeficiency virus"),
    "Tuberculosis": ("TB",),
    "Poliomyelitis": ("polio",),
    "Influenza": ("flu",),
    "Ebola": ("Ebola virus disease",),
    "Sustainable Development Goals": ("Sustainable Development Goal", "SDG", "SDGs"),
    "Executive Summary": (),
    "Frequently Asked Questions": ("FAQ", "FAQs"),
}  # fmt: skip

# British and American spellings, as stems: one way is enough, both ways are made.
SPELLINGS = (
    ("organis", "organiz"), ("programme", "program"), ("labour", "labor"), ("centre", "center"),
    ("defence", "defense"), ("behaviour", "behavior"), ("harbour", "harbor"),
    ("urbanis", "urbaniz"), ("utilis", "utiliz"), ("modernis", "moderniz"),
    ("mobilis", "mobiliz"), ("stabilis", "stabiliz"), ("immunis", "immuniz"),
    ("digitalis", "digitaliz"), ("colour", "color"), ("ageing", "aging"), ("licence", "license"),
    ("favour", "favor"), ("neighbour", "neighbor"), ("judgement", "judgment"),
    ("analys", "analyz"), ("recognis", "recogniz"), ("authoris", "authoriz"),
    ("prioritis", "prioritiz"), ("minimis", "minimiz"), ("fertiliser", "fertilizer"),
    ("catalogue", "catalog"), ("paediatric", "pediatric"), ("tonne", "ton"),
)  # fmt: skip

# A condition must say something by itself. These words alone, or only these words together,
# do not.
VAGUE = frozenset(
    """abstract acknowledgement acknowledgements acknowledgment acknowledgments action actions
    activities activity additional age analysis annex appendices appendix approach area areas
    article articles assets assumptions attachment average background base basis benefits box
    business case category changes chapter chart city class code column comment comments
    conclusion conclusions considerations contact contents context continued cost costs country
    current data date day days definition definitions description detail details development
    discussion document effect effective end equity error example examples experience
    experiments factors features female figure figures file final finding findings first
    following form format full function future general goal goals group groups high impact
    implementation important income index information input introduction issue issues item items
    key last level levels limitations line list local low main male management market matter
    matters method methodology methods model models month months more name national need
    needs new next note notes number objective objectives option options order other output
    overall overview page pages paper part parts percent period phase place plan plans point
    points policy preliminary procedure procedures process processes product program programs
    project projects proposal purpose quality question questions rate rates reason recommendation
    recommendations record reference references related remark remarks report reports required
    requirement requirements research resources response responses result results review revised
    revision role rule rules sample scope second section sections selected series services set
    setup size source sources special specific standard state statement states statistics status
    step steps strategy structure study subject subtotal summary support system systems table
    tables task tasks terms test third time title topic total totals training type types unit
    units update use users value values variable variables version work year years yes""".split()
)

# Phrases that stand on covers, in forms, notices and page furniture of many documents.
BOILERPLATE = frozenset(
    squeeze(phrase)
    for phrase in """Table of Contents|List of Tables|List of Figures|All Rights Reserved
    |Federal Register|For Further Information Contact|Supplementary Information|Effective Date
    |Effective Dates|List of Subjects|Code of Federal Regulations|Authority Citation|Billing Code
    |Rules and Regulations|Proposed Rules|Proposed Rule|Final Rule|Government Printing Office
    |Press Release|Annual Report|Working Paper|Discussion Paper|Technical Report|Draft Report
    |Final Report|Table Notes|Page Left Blank|This Page Intentionally Left Blank|Cover Page
    |Title Page|Related Work|Related Works|Future Work|Experimental Setup|Experimental Results
    |Main Results|Ethics Statement|Ethical Considerations|Conflict of Interest
    |Author Contributions|Data Availability|Supplementary Material|Open Access|Creative Commons
    |United States|United Nations|General Assembly|Security Council|Original English
    |Signature Page|Form 10-K|Item 1|Part I|Exhibit Index|Agenda Item|Provisional Agenda
    |Adobe Acrobat|Acrobat Distiller|Other Information|Other Matters|General Information
    |Additional Information|Contact Information|Further Information|Introduction and Background
    |Background and Introduction|Action Item|Action Items|Next Steps|Key Points|Key Messages
    |Terms of Reference|Net Sales|Fiscal Year|Federal Government|Secretary General
    |Secretary-General|Federal Agencies""".split("|")
)

MONTHS = frozenset(
    """january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday spring summer autumn fall winter""".split()
)

UNITS = frozenset(
    """km kg mg ml mm cm kwh mwh gwh mw gw usd eur gbp million billion thousand percent percentage
    ha mt co2 hz ghz mhz kb mb gb tb""".split()
)

# A phrase that begins with one of these names a place in a document, not a thing.
LABELS = frozenset(
    """annex appendix article attachment chapter clause division exhibit fig figure form item
    items law module no note notes number para paragraph part page section schedule step subpart
    subsection table volume act list index notice title""".split()
)

# Words of covers, forms, file references and slides.
FURNITURE = frozenset(
    """registrant telephone docket billing isbn issn copyright addendum rin cfr signature
    signatures undersigned acknowledgement acknowledgements acknowledgments acknowledgment
    submitted supplement symbols symbol fax email url website webpage www http https pdf continued
    unaudited exhibits exhibit appendix annex preface foreword contents thank fiscal revision
    representatives""".split()
)
