/**
 * Given names that are one name in different languages or in everyday use, and that no comparison of
 * letters finds alike: Igor and Ihor, Vladimir and Volodymyr, Mohammed and Mehmet, Jose and Pepe. An
 * equivalence table beside the comparison of letters is the usual method of record linkage (Christen,
 * "Data Matching", 2012, chapter 3). Words are as `names.ts` spells them; each is in one line only.
 */
const lines = `
alexander aleksandr alexandr oleksandr aliaksandr alyaksandr aleksander alejandro alessandro alexandre iskander iskandar
aleksei alexei aleksey alexey oleksii oleksiy aliaksei
andrei andrey andrii andriy andrej andrzej andrew
anatoly anatolii anatoliy anatol
boris borys barys
dmitri dmitry dmitriy dmytro dzmitry dzmitryi
evgeny evgenii evgeniy yevgeny yevgeniy yevhen yevhenii yauhen yauheni eugene
georgy georgii georgiy heorhii heorhiy giorgi
gennady gennadii gennadiy hennadii hennadiy henadz
grigory grigorii grigoriy hryhorii hryhoriy ryhor
igor ihor ihar
konstantin constantin kostiantyn kostyantyn kanstantsin
leonid leanid
mikhail mykhailo mykhaylo mikhal
nikolai nikolay mykola mikalai mikalay
oleg oleh aleh
olga olha volha
pavel pavlo paval
pyotr petr petro piotr
sergei sergey serhii serhiy siarhei siarhey syarhey
svetlana svitlana sviatlana
vasily vasilii vasiliy vasyl vasil
viktor victor viktar
vladimir volodymyr uladzimir wladimir
vladislav vladyslav uladzislau
vyacheslav viacheslav viacheslau
elena yelena olena alena
ekaterina yekaterina kateryna katsiaryna
tatiana tatyana tetiana tatsiana
natalia nataliya natalya nataliia natallia
irina iryna
anna hanna
yuri yury yuriy yurii iurii
muhammad mohammad mohammed mohamed mehmet mamadou mohamadou mahamat mohd muhd magomed
ahmad ahmed ahmet akhmad akhmed ahmadou amadou akhmet
abdullah abdallah abdoulaye abdulla
ibrahim ibrahima ebrahim braham ibragim
yusuf youssef yousef yousuf yusif youssouf yousif
husayn hussein hussain hossein huseyin housseini guseyn
hasan hassan hacene khasan gasan
ismail ismael esmail esmaeil smail
isa issa eissa
musa moussa mousa mosa
mustafa mustapha moustapha mostafa
uthman osman othman ousmane usman otman
umar omar oumar omer
sulayman suleiman sulaiman souleymane soleiman suleyman slimane soliman
dawud daoud daud davud dawood
yaqub yakub yacoub yaghoub yakup
jamal gamal djamel cemal jamel
jalal galal celal djalal
khalid khaled halit halid chaled
qasim kassem qassem kasim gassem ghasem
jawad javad cevat juad djaouad
jafar jaafar gafar cafer djaafar
mahmud mahmoud mahmut makhmud
salih saleh
tariq tarek tarik tareq
zaynab zainab zeinab zeynep
khadija khadijah hatice khadidja
aisha aysha ayse aicha
fatima fatma fatemeh fatoumata fatou
qaddafi gaddafi gadhafi qadhafi kadhafi kaddafi
gholam ghulam golam
jose pepe
francisco paco pancho
ignacio nacho
guillermo memo
eduardo lalo
enrique quique kike
jesus chuy chucho
manuel manolo
william bill billy willy
robert bob bobby rob
richard dick rick ricky
james jim jimmy
john johnny jack
thomas tom tommy
michael mike mick
joseph joe joey
charles charlie chuck
edward ed eddie ted
anthony tony
christopher chris
elizabeth liz beth betty
margaret maggie peggy
katherine catherine kate kathy
samuel sam sammy
benjamin ben benny
kenneth ken kenny
lawrence larry
`;

const groups = lines
  .trim()
  .split('\n')
  .map((line) => [...new Set(line.split(' '))]);
const groupOf = new Map<string, readonly string[]>(
  groups.flatMap((group) => group.map((name) => [name, group] as const)),
);

/** The other forms of a given name; none for a word that is not in the table. */
export function listNameForms(text: string): readonly string[] {
  return (groupOf.get(text) ?? []).filter((name) => name !== text);
}

export function isSameGivenName(left: string, right: string): boolean {
  const group = groupOf.get(left);
  return group !== undefined && group === groupOf.get(right);
}
