"""Word lists of the rule-based steps: small, readable, and the place to extend them."""

from __future__ import annotations

from nclue_construct.surface import squeeze


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> list[str]:
    """Phrases between bars or line ends."""
    return [
        phrase.strip() for line in text.splitlines() for phrase in line.split("|") if phrase.strip()
    ]


CONNECTORS = _words("""
    & and de des du for in la of on the to
""")

FUNCTION_WORDS = _words("""
    a about above after against all also although among an and any are as at be because been
    before being below between both but by can could did do does dr during each eight either
    every few five following for four from further had has have he her here his how however i if
    in including into is it its itself many may might more most mr mrs ms much must neither nine
    no nor not now of on once one only or other our out over own per same see seven several
    shall she should since six so some such ten than that the their them then there therefore
    these they this those three through thus to too toward towards two under until up upon us
    via was we were what when where whether which while who whom whose why will with within
    without would you your
""")

# Words that make a run of capitalised words a name of something: an organisation, a law, a
# programme, a place. Names of persons have none of them and are never conditions.
ENTITY_TYPES = _words("""
    academy accord act administration agency agenda agreement alliance assembly assistance
    association authority bank basin board bureau center centre charter code college commission
    commissioner committee compact conference congress consortium constitution convention
    cooperation corporation corps council court declaration department directive directorate
    directory disease federation forum foundation framework front fund funds government group
    guard gulf initiative institute institution institutions island islands laboratory lake law
    league library ministry mission museum nations network ocean office organisation
    organization pact panel parliament partnership peninsula plan police program programme
    project protocol registry regulation regulations reserve resolution river rule sea senate
    service services society standards statute strategy summit survey syndrome system taskforce
    treaty tribunal trust union university virus
""")

GAZETTEER_NAMES = tuple(
    _phrases("""
    COVID-19 | Malaria | Tuberculosis | Cholera | Ebola | Measles | Poliomyelitis | Diabetes
    HIV/AIDS | Hepatitis | Pneumonia | Influenza | Dengue
""")
)
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
    "Charter of the United Nations": ("United Nations Charter", "UN Charter"),
    "Conference of the Parties": ("COP",),
    "Organization for Economic Cooperation and Development": ("OECD",),
    "Environmental Protection Agency": ("EPA", "USEPA"),
    "World Health Organization": ("WHO",),
    "Clean Water Act": ("Federal Water Pollution Control Act",),
    "Information Quality Act": ("Data Quality Act",),
    "International Criminal Police Organization": ("INTERPOL",),
    "North Atlantic Treaty Organization": ("NATO",),
    "Soviet Union": ("USSR", "Union of Soviet Socialist Republics"),
    "El Niño-Southern Oscillation": ("El Niño", "ENSO"),
    "Federal Information Relay Service": ("Federal Relay Service", "Federal Information Relay"),
    "Executive Order": ("E.O.",),
    "Ministry of Defence": ("Defence Ministry", "Minister of Defence", "Defence Minister"),
    "European Commission": ("EC",),
    "Frequently Asked Questions": ("FAQ", "FAQs"),
}  # fmt: skip

# Acronyms that mean one thing wherever they stand in capitals.
UNMISTAKABLE = _words("""
    ASEAN COVID FASB FERC HIV IPCC NASA NATO NEPA NMFS NOAA NPDES NRCS OECD OPEC SDG SDGS UNDP
    UNESCO UNFPA UNHCR UNICEF UNIDO UNMISS UNODC UNOPS USACE USDA USEPA USFWS
""")

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
VAGUE = _words("""
    abstract acknowledgement acknowledgements acknowledgment acknowledgments action actions
    activities activity additional age allowed analysis annex appendices appendix approach area
    areas article articles aspects assets assumptions attachment available average background
    base basis benefits box business case category changes chapter chart city class clear code
    column comment comments conclusion conclusions considerations contact contents context
    continued cost costs country current data date day days definition definitions description
    detail details development developments direction discussion discussions document documents
    effect effective efficiency end equity error evaluation example examples experience
    experimental experiments factors features female figure figures file final finding findings
    first following form format full function further future general goal goals good group
    groups guiding high impact implementation important income increase index information input
    introduction issue issues item items job key last level levels limitations line list local
    low main major male management market matter matters method methodology methods model models
    month months more name national need needs new next note notes number objective objectives
    option options order other output overall overview page pages paper part parts percent
    period person phase place plan plans point points policy practice practices preliminary
    procedure procedures process processes product program programs project projects proposal
    purpose qualitative quality quantitative question questions rate rates reason recommendation
    recommendations record reference references regular related remark remarks report reports
    required requirement requirements research resource resources response responses result
    results review revised revision role rule rules sample scope second section sections
    selected series services set settings setup shared size source sources special specific
    stage stages standard state statement states statistics status step steps strategy structure
    study subject subtotal summary supplemental supplementary support supporting system systems
    table tables task tasks terms test third time title topic total totals training type types
    unit units update use users value values variable variables version work year years yes
""")

# Phrases that stand on covers, in forms, notices and page furniture of many documents, and names
# too general to ask for.
BOILERPLATE = frozenset(
    squeeze(phrase)
    for phrase in _phrases("""
    Ablation Study | Acrobat Distiller | Action Item | Action Items | Additional Information
    Adobe Acrobat | Agenda Item | All Rights Reserved | Annual Report | Audit Committee
    Author Contributions | Authority Citation | Background and Introduction | Billing Code
    Board of Directors | Chair of the Committee | Code of Federal Regulations | Common Stock
    Conflict of Interest | Contact Information | Contact Person | Cover Page | Creative Commons
    Data Availability | Department of the Interior Manual | Discussion Paper | Draft Report
    Effective Date | Effective Dates | Ethical Considerations | Ethics Statement | Exchange Act
    Exchange Act Rules | Executive Board Decision | Exhibit Index | Experimental Results
    Experimental Setup | Federal Agencies | Federal Government | Federal Register | Final Report
    Final Rule | Fiscal Year | For Further Information Contact | Form 10-K | Further Information
    Future Work | General Assembly | General Information | Government Printing Office
    Government of the United States | Incorporated by Reference | Introduction and Background
    Investors Service | Item 1 | Key Messages | Key Points | List of Figures | List of Subjects
    List of Tables | Main Results | Model Configurations | Net Sales | Next Steps
    Office of the Director | One United Nations | Open Access | Original English | Other Information
    Other Matters | Page Left Blank | Par Value | Part I | Power of Attorney | Press Release
    Proposed Rule | Proposed Rules | Provisional Agenda | Related Work | Related Works
    Rules and Regulations | Secretary General | Secretary-General | Securities Act
    Securities Exchange Act | Securities and Exchange Act | Security Council
    Security Council Resolution | Signature Page | States Members of the United Nations
    Supplementary Information | Supplementary Material | Table Notes | Table of Contents
    Technical Report | Terms of Reference | This Page Intentionally Left Blank | Title Page
    UN Security Council Resolution | UN Security Council Resolutions | United Nations
    United Nations Convention | United Nations General Assembly | United Nations Headquarters
    United Nations Member States | United Nations Resolution | United Nations Secretariat
    United Nations Security Council | United Nations Security Council Resolution
    United Nations System | United States | Working Paper | World Bank Staff
""")
)

MONTHS = _words("""
    apr april aug august autumn dec december fall feb february friday jan january jul july jun
    june mar march may monday nov november oct october saturday sep sept september spring summer
    sunday thursday tuesday wednesday winter
""")

UNITS = _words("""
    billion cm co2 eur gb gbp ghz gw gwh ha hz kb kg km kwh mb mg mhz million ml mm mt mw mwh
    percent percentage tb thousand usd
""")

# A phrase that begins with one of these names a place in a document, not a thing.
LABELS = _words("""
    act annex appendix article attachment chapter clause division exhibit fig figure form index
    item items law list module no note notes notice number page para paragraph part schedule
    section step subpart subsection table title volume
""")

# Words of covers, forms, file references and slides.
FURNITURE = _words("""
    acknowledgement acknowledgements acknowledgment acknowledgments addendum adobe annex
    appendix billing cfr contents continued copyright distr docket docx email exhibit exhibits
    fax file fiscal foreword http https isbn issn login online password pdf preface registrant
    representatives revision rin signature signatures submitted supplement symbol symbols
    telephone thank unaudited undersigned url webpage website www
""")
