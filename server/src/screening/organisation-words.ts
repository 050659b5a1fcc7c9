import type { NameWord } from './names.ts';

/**
 * What the words of organisations mean. Legal forms do not distinguish organisations ("S.A.", "OOO",
 * "Private Joint Stock Company"; the forms are those of ISO 20275 in common use). Words for a line of
 * business are exchanged between languages and abbreviated ("Jaysh al-Islam" is the "Army of Islam").
 */

const legalForms = new Set(
  (
    'co company companies corp corporation ltd limited llc llp lp inc incorporated plc gmbh ag kg kgaa ohg ug ' +
    'sa sas sasu sarl srl sprl bv nv vzw asbl cv rl spa spc se oy oyj ab as asa aps hf ehf kft zrt bt nyrt ' +
    'sro spol zoo sp dd doo ad ead eood ood et kd too tov pat prat at ooo oao zao ao pao ojsc jsc pjsc cjsc ' +
    'nao gup fgup rup fku mchj xk fze fzc fzco fzllc dmcc dwc wll bsc saog saoc sal sae psc pjs pvt pte pty ' +
    'sdn bhd tbk pt ua eirl ltda limitada anonima sociedad societe anonyme responsabilidad responsabilite ' +
    'limitee cia compania compagnie comandita joint stock private public closed open liability partnership ' +
    'obshchestvo obshchestva ogranichennoi ogranichennoy otvetstvennostyu otvetstvennostiu aktsionernoe ' +
    'aktsionernoye zakrytoe zakrytoye otkrytoe otkrytoye publichnoe publichnoye nepublichnoe unitarnoe ' +
    'gesellschaft aktiengesellschaft beschrankter haftung sirketi anonim sti privee privada publica ' +
    'sherkat sherkate sherkat-e sharikat sharika shirkat offshore holding holdings group grupo groupe ' +
    'enterprise enterprises empresa empresas firm predpriyatie predpriyatiye preduzece za cong ty tnhh'
  ).split(' '),
);

/** Words with one meaning, by line: English first. Words of one line are equal in an organisation. */
const meanings = `
trade trading trader traders commerce commercial comercio comercial comercializadora comerciales ticaret ticari bazargani torgovy torgovaya torgovyi torgovlya tijarat tijara tejarat handel commerciale maoyi trgovina
general gen generale umumi omumi amma
international intl int internacional internationale mezhdunarodny mezhdunarodnaya mezhdunarodniy uluslararasi beynolmelal guoji dawli dawliya
national nat nacional nationale natsionalny natsionalnaya melli ulusal milli watani wataniyya watan
industry industries industrial industria industrias industrie industriel sanaye sanayi sanat promyshlennost promyshlenny promyshlennaya sinai gongye sanati
engineering eng ingenieria ingenierie inzhiniring mohandesi muhendislik inzenjering handasa injiniring
construction constructions constructora construcciones construccion insaat stroitelny stroitelnaya stroitelstvo sakhtemani sakhteman building builders
investment investments inversiones inversion investissement investitsionny investitsionnaya sarmayegozari sarmayeh istithmar yatirim
exchange sarafi sarrafi sarraf cambio cambios hawala hawalah currency
bank banco banque banka banca masraf bankas
petrochemical petrochemicals petroshimi petroquimica petrokimya petrochem
petroleum oil petrol neft naft nafta nefte neftyanaya petrole petroleo petroli oilfield
gas gaz gazi
shipping maritime marine denizcilik naviera morskaya morskoy keshtirani navigation navegacion maritima shipmanagement
lines line
airlines airline air airways aviation aviacion aero aereo aerea aviatsiya avia havacilik havapeymai havayi hava havai tayaran airlift aircompany aviakompaniya
company
research research issledovatelsky issledovatelskiy issledovatelski investigacion recherche tahghighat pajoohesh arastirma buhuth
scientific science sciences nauchno nauchny nauchnaya nauchniy cientifica scientifique elmi ilmi
institute institution institut instituto institutions instituut moassese mooassese muassasat muassasa mouassasa enstitusu establishment
production proizvodstvenny proizvodstvennaya proizvodstvenno proizvodstvo produccion uretim tolidi tolid manufacturing mfg manufacturas manufacture proizvodnju
technology technologies technical technological tech tecnologia tecnologias technologie teknoloji tekhnologii tekhnologiya tekhnicheskii fanavari tecnica
electronic electronics electronica electronicos elektronik elektronika elec electro
electric electrical electricity electrica elektrik elektrichestvo energo
communications communication telecommunications telecom telekom comunicaciones svyaz iletisim telecomunicaciones ertebatat
transport transportation transportes transporte transports nakliyat tasimacilik perevozki naql hamlonaghl haml
logistics logistic logistica lojistik logistika
services service servicios servicio servis hizmetleri khadamat uslugi usluge khidmat servisi services
import importer imports importaciones importadora ithalat importacion
export exports exportaciones exportadora ihracat eksport saderat exportacion exporter exportadores
foundation fundacion fondation bonyad fond fund fonds vakif vakfi waqf stichting fonder
organization organisation organizacion organizations sazman sazmane munazzamat organizatsiya orgutu tanzim
association asociacion associations assoc jamiat jamiyat jamiyyat anjoman assotsiatsiya dernegi rabita soyuz union ittihad etehad
cooperative cooperativa taavon taavoni kooperativ cooperatives taawon
committee comite lajnat lajna komitet komite commission komissiya
council consejo shura conseil sovet majlis
center centre centro tsentr markaz merkezi zentrum
movement harakat haraka haraket movimiento mouvement dvizhenie hareketi tahrik tehrik tehreek
army jaysh jaish ejercito armee armiya ordu jeish
brigades brigade battalion battalions saraya sarayat kataib katibat katiba kataeb liwa brigada tugay
party hizb partido parti partiya hezb partei
front jabhat jabha jabhah frente cephesi
soldiers soldier jund ansar supporters
state states dawla dawlah wilayat wilayah province vilayat dawlat gosudarstvennoe gosudarstvennaya gosudarstvenny
islamic islam islami islamiyya islamiyah islamiya islamique islamico eslami islamiyyah islamia
charity charitable khayriyya khayriya khairiya benevolent benevolence kheyrieh
relief aid igatha ighatha secours hilfe rescue assistance emdad
martyr martyrs shahid shohada shuhada
revolutionary revolution revolucionaria revolucionarias revolyutsionny enghelab thawra thawriyya
armed armadas
forces force fuerzas quwwat niru nirouye
guard guards corps sepah pasdaran haras protection guarding
security amn seguridad bezopasnost guvenlik hefazat
police politsiya polis shurta
intelligence mukhabarat ettelaat razvedka
ministry ministerio ministere ministerstvo vezarat bakanligi department directorate direccion departament iderat idarat glavnoe upravlenie upravleniya bureau
university universidad universite universitet daneshgah jamiat universitesi universiti
hospital bimarestan mustashfa hastanesi clinic clinica
agriculture agricultural agricola agropecuaria agroindustrial agroindustriales agro keshavarzi tarim agroindustria
livestock ganadera ganaderia ganado agropecuarias
steel fulad foulad acero stal celik metallurgical metallurgy metalurgica metallurgiya staleliteiny
iron ahan hierro metal metals maden mineral minerals mining minera madencilik maadan gornaya exploration
cement siman cemento ciment cimento
food foods alimentos alimenticia gida ghaza produkty
fishing pesca fishery fisheries pesquera
medical medico medicos saglik tibbi medicine pharma pharmaceutical pharmaceuticals farmaceutica daru ilac pharmacy drogueria drogas
real estate inmobiliaria inmobiliarios inmuebles immobilier emlak nedvizhimost properties property realty bienes raices
hotel hotels hoteles hotelera otel
restaurant restaurante restoran cafe
automobile automobiles auto autos automotive automotriz motor motors otomotiv avto khodro car cars
parts partes repuestos
machine machinery machines maquinaria makina mashinostroitelny mashinostroenie mashinostroeniya mashin
insurance seguros assurance bimeh sigorta strakhovaya
consulting consultants consultoria asesorias asesores danismanlik consultores advisory
development desarrollo desarrollos razvitie razvitiya gelistirme tosee toseye towseh kalkinma developers
design diseno disain dizayn proektny
management administration administradora gestion upravlyayushchaya yonetim modiriyat administracion
media smi medya medios publishing resaneh rasaneh
television tv radio broadcasting
news agency agencia agence agentstvo khabargozari ajans haber information informatsionnoe
school escuela madrasa madrassa medresa
student students taleban
youth javanan shabab jeunesse juventud molodezh
people peoples pueblo narod narodnaya popular popular mardom shaabi halk
republic republica republique respublika jomhuri jumhuriya cumhuriyeti
new nuevo nueva novy novaya novo nowin novin yeni jadid jadida nouveau nouvelle
east eastern orient oriente oriental vostok vostochny sharq shargh sharqi iztok dogu
west western occidente occidental zapad zapadny gharb bati
north northern norte sever severny shomal kuzey
south southern sur yug yuzhny jonoub guney sud
sea sea darya deniz mar bahr more
river rio nahr rud
world mundial global jahan alam dunya mir mondial
money financial finance finanzas finansal finansovy finansovaya mali maliyyah maliya financiera financieras transfer transfers remittance kapital capital
first primero pervy
star estrella setare yildiz najm zvezda
holy sagrado muqaddas moqaddas
jerusalem quds qods
factory plant zavod fabrika karkhaneh fabrica karkhanejate usine works kombinat complex
railway railways railroad zhd zheleznodorozhny rahahan ferrocarril demiryolu
computer software informatics informatica informatik informatic bilgisayar rayaneh
wood timber lumber madera les
paper papel kagit kaghaz bumaga
textile textiles tekstil textil nassaji
chemical chemicals chemistry quimica quimicos kimya kimyasal khimicheskaya shimi shimiyai himprom
system systems sistema sistemas sistem samaneh samanehaye
energy energia energetika enerji energiya enerzhi
power niroo nirou
travel tourism turizm turismo viajes touristic
market supermarket supermercado bazaar bazar mercado
store stores shop tienda tiendas supertiendas almacen magaza
weapons arms oruzhie armas silah
military voennaya voenno voyenno nezami askari militar
defense defence defensa oborona oboronny defa savunma difa
space aerospace kosmos havafaza aeronautics astronautics
nuclear atomic atom atomi yaderny nuclear
war defensive jihad
brothers bros hermanos hnos freres kardesler ikhwan
sons hijos fils ogullari awlad
house khana casa maison dar beyt
and y et und va ve wa i e
de of the van del
`;

/** Places say where an organisation works, and do not distinguish it either. */
const places =
  'iran iranian tehran iraq iraqi syria syrian syrians damascus aleppo lebanon lebanese beirut russia russian rossiya ' +
  'rossii moscow moskva belarus belarusian minsk ukraine crimea crimean korea korean choson pyongyang china chinese ' +
  'zhongguo shanghai beijing hong kong hongkong cuba cuban cubana havana venezuela venezolana caracas colombia ' +
  'colombiana bogota cali mexico mexicana culiacan tijuana guadalajara panama turkey turk turkiye istanbul dubai ' +
  'uae emirates sharjah qatar kuwait saudi bahrain oman yemen yemeni palestine palestinian gaza israel egypt libya ' +
  'libyan sudan sudanese somalia somali kenya nigeria africa african asia asian europe european america american ' +
  'usa uk london germany deutschland france italy italia spain espana malta cyprus greece serbia bosnia kosovo ' +
  'afghanistan afghan kabul pakistan pakistani karachi india indian bangladesh malaysia singapore indonesia ' +
  'philippines thailand bangkok vietnam myanmar burma burmese japan zimbabwe congo mali algeria tunisia morocco ' +
  'peru ecuador guatemala honduras salvador nicaragua caribe caribbean atlantic atlantico pacific pacifico gulf ' +
  'persian arab arabian kish isfahan esfahan shiraz tabriz mashhad kazakhstan uzbekistan tajikistan azerbaijan ' +
  'armenia georgia abkhazia donetsk luhansk sevastopol chechen tchechnya swiss austria belgium netherlands';

const meaningOf = new Map<string, string>(places.split(' ').map((place) => [place, place]));
for (const line of meanings.trim().split('\n')) {
  const [english = '', ...others] = line.split(' ');
  for (const word of [english, ...others]) if (!meaningOf.has(word)) meaningOf.set(word, english);
}

const known = new WeakMap<NameWord, NameWord>();

/**
 * The word as a part of an organisation's name: a legal form is a particle, a line of business has its
 * meaning.
 */
export function asOrganisationWord(word: NameWord): NameWord {
  if (word.kind !== 'word') return word;
  const present = known.get(word);
  if (present !== undefined) return present;
  const meaning = meaningOf.get(word.text);
  const read: NameWord = legalForms.has(word.text)
    ? { ...word, kind: 'particle' }
    : meaning === undefined
      ? word
      : { ...word, meaning };
  known.set(word, read);
  return read;
}

const acronymLengthMin = 4;
const acronymLengthMax = 10;

/** The initials of an organisation's significant words, without and with those of its legal form. */
export function readAcronyms(words: readonly NameWord[]): string[] {
  const significant = words.filter(({ kind }) => kind !== 'particle');
  const inner = significant.filter((word) => asOrganisationWord(word).kind === 'word');
  const acronyms = [inner, significant, words.filter(({ text }) => !joining.has(text))]
    .filter((chosen) => chosen.every(({ kind }) => kind !== 'initial'))
    .map((chosen) => chosen.map(({ text }) => text[0] ?? '').join(''))
    .filter(({ length }) => length >= acronymLengthMin && length <= acronymLengthMax);
  return [...new Set(acronyms)];
}

const joining = new Set('and of the de del y e for'.split(' '));

/** Words of an organisation have a meaning where they name a line of business or a place. */
export function readAsKind(
  words: readonly NameWord[],
  kind: 'person' | 'organisation',
): readonly NameWord[] {
  return kind === 'organisation' ? words.map(asOrganisationWord) : words;
}
