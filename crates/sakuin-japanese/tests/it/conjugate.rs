//! A conjugator that knows nothing of the tables: it makes every required form of an example of every
//! class by the rows of the kana chart, and the engine must read each of them back.

use std::collections::HashSet;

use sakuin_japanese::deinflect::{Deinflector, Reading};
use sakuin_japanese::rules::rules;

/// The bases of one verb, written out.
#[derive(Clone)]
struct Verb {
    plain: String,
    nai: String,
    zu: String,
    masu: String,
    stem: String,
    ba: String,
    contracted: String,
    imperatives: Vec<String>,
    volitional: String,
    te: String,
    passive: (String, &'static str),
    potential: Option<(String, &'static str)>,
    causative: String,
    short: String,
}

#[test]
fn reads_back_every_required_form_of_every_class_of_verb() {
    let words = [
        (godan("書く"), "書く", "v5k"),
        (godan("泳ぐ"), "泳ぐ", "v5g"),
        (godan("話す"), "話す", "v5s"),
        (godan("待つ"), "待つ", "v5t"),
        (godan("死ぬ"), "死ぬ", "v5n"),
        (godan("死ぬ"), "死ぬ", "vn"),
        (godan("遊ぶ"), "遊ぶ", "v5b"),
        (godan("読む"), "読む", "v5m"),
        (godan("走る"), "走る", "v5r"),
        (godan("買う"), "買う", "v5u"),
        (Verb { te: "行って".into(), ..godan("行く") }, "行く", "v5k-s"),
        (Verb { te: "問うて".into(), ..godan("問う") }, "問う", "v5u-s"),
        (aru("くださる"), "くださる", "v5aru"),
        (aru("いらっしゃる"), "いらっしゃる", "v5aru"),
        (ichidan("食べる"), "食べる", "v1"),
        (ichidan("起きる"), "起きる", "v1"),
        (ichidan("呉れる"), "呉れる", "v1-s"),
        (kuru("こ", "き", "く"), "くる", "vk"),
        (kuru("来", "来", "来"), "来る", "vk"),
        (kuru("來", "來", "來"), "來る", "vk"),
        (suru(""), "する", "vs-i"),
        (suru("旅"), "旅する", "vs-s"),
        (suru("散歩"), "散歩", "vs"),
        (zuru("信"), "信ずる", "vz"),
    ];
    let (mut missing, mut count) = (Vec::new(), 0);
    for (verb, form, class) in words {
        let noun = if class == "vs" { "do (suru); " } else { "" };
        let mut expected = forms(&verb, noun);
        for (auxiliary, steps) in auxiliaries(&verb, noun) {
            expected.extend(forms(&auxiliary, &format!("{steps}; ")));
        }
        count += expected.len();
        missing.extend(unread(&expected, form, class));
    }
    assert!(count > 20_000, "{count}");
    assert!(
        missing.is_empty(),
        "{} of {count}: {:#?}",
        missing.len(),
        &missing[..missing.len().min(40)]
    );
}

#[test]
fn reads_back_every_required_form_of_adjectives() {
    let words = [
        ("高", "高", "高", "高い", "adj-i"),
        ("美し", "美し", "美し", "美しい", "adj-i"),
        ("少な", "少な", "少なさ", "少ない", "adj-i"),
        ("な", "な", "なさ", "ない", "adj-i"),
        ("無", "無", "無さ", "無い", "adj-i"),
        ("よ", "よ", "よさ", "よい", "adj-i"),
        ("よ", "よ", "よさ", "いい", "adj-ix"),
        ("良", "良", "良さ", "良い", "adj-ix"),
    ];
    let mut missing = Vec::new();
    for (stem, short, seeming, form, class) in words {
        let expected = adjective(stem, short, seeming, "");
        missing.extend(unread(&expected, form, class));
    }
    let desire = adjective("書きた", "書きた", "書きた", "desiderative; ");
    missing.extend(unread(&desire, "書く", "v5k"));
    let ease = adjective("書きやす", "書きやす", "書きやす", "easy to do; ");
    missing.extend(unread(&ease, "書く", "v5k"));
    assert!(missing.is_empty(), "{missing:#?}");
}

fn unread(expected: &[(String, String)], form: &str, class: &str) -> Vec<String> {
    let deinflector = Deinflector::new(rules());
    let class = rules().class(class).unwrap();
    let steps = |reading: Reading| {
        let labels: Vec<&str> = reading.reasons.iter().map(|r| rules().label(*r)).collect();
        (reading.form == form && reading.class == class).then(|| labels.join("; "))
    };
    let mut missing = Vec::new();
    for (surface, wanted) in expected {
        let found: HashSet<String> =
            deinflector.readings(surface).into_iter().filter_map(steps).collect();
        if !found.contains(wanted) {
            missing.push(format!("{surface} = {form} + {wanted}; found {found:?}"));
        }
    }
    missing
}

/// The forms of a verb in which nothing inflects any further, and the polite and negative ones.
fn forms(verb: &Verb, before: &str) -> Vec<(String, String)> {
    let mut made = Vec::new();
    let mut make = |base: &str, endings: &[(&str, &str)]| {
        let steps = |steps: &str| format!("{before}{steps}");
        made.extend(endings.iter().map(|(end, step)| (format!("{base}{end}"), steps(step))));
    };
    make(
        &verb.masu,
        &[
            ("ます", "polite"),
            ("ました", "polite; past"),
            ("ましたら", "polite; conditional"),
            ("まして", "polite; te-form"),
            ("ましょう", "polite; volitional"),
            ("ましょっか", "polite; contracted volitional with ka"),
            ("ません", "polite; negative"),
            ("ませんでした", "polite; negative; past"),
            ("ませんでしたら", "polite; negative; conditional"),
            ("ますれば", "polite; provisional"),
            ("ますまい", "polite; negative conjecture (mai)"),
        ],
    );
    if !verb.nai.is_empty() {
        make(
            &verb.nai,
            &[
                ("ない", "negative"),
                ("なかった", "negative; past"),
                ("なかったら", "negative; conditional"),
                ("なかったり", "negative; listing"),
                ("なくて", "negative; te-form"),
                ("なくちゃ", "negative; contracted topic te-form"),
                ("ないで", "negative; without doing (nai de)"),
                ("なければ", "negative; provisional"),
                ("なきゃ", "negative; contracted provisional"),
                ("なさそう", "negative; looking as if"),
                ("ねえ", "negative; slang (ee)"),
            ],
        );
    }
    if !verb.zu.is_empty() {
        make(
            &verb.zu,
            &[
                ("ん", "contracted negative (n)"),
                ("んかった", "contracted negative (n); past"),
                ("ぬ", "literary negative (nu)"),
                ("ず", "literary negative (zu)"),
                ("ずに", "without doing (zu ni)"),
                ("ざる", "literary negative (zaru)"),
                ("ざるを得ない", "cannot help doing"),
                ("ざるをえなかった", "cannot help doing; past"),
                ("ねば", "literary negative conditional (neba)"),
                ("にゃ", "contracted negative conditional (nya)"),
                ("んばかり", "as if about to"),
                ("んとする", "be about to"),
                ("んとした", "be about to; past"),
                ("む", "literary volitional (mu)"),
                ("むとする", "literary be about to (mu to suru)"),
                ("へん", "Kansai negative (hen)"),
                ("へんかった", "Kansai negative (hen); past"),
                ("ひん", "Kansai negative (hin)"),
                ("ひんかった", "Kansai negative (hin); past"),
            ],
        );
    }
    make(&verb.plain, &[("な", "prohibitive"), ("まい", "negative conjecture (mai)")]);
    make(&verb.ba, &[("ば", "provisional")]);
    make(&verb.contracted, &[("", "contracted provisional")]);
    make(&verb.volitional, &[("う", "volitional"), ("っか", "contracted volitional with ka")]);
    for imperative in &verb.imperatives {
        make(imperative, &[("", "imperative")]);
    }
    make(&verb.te, &[("", "te-form"), ("は", "topic te-form"), ("も", "even if (te mo)")]);
    make(&ta(&verb.te), &[("", "past"), ("ら", "conditional"), ("り", "listing")]);
    make(&contracted_te(&verb.te, "ちゃ", "じゃ"), &[("", "contracted topic te-form")]);
    make(&verb.stem, &[("たい", "desiderative"), ("たかった", "desiderative; past")]);
    make(&verb.stem, &[("ながら", "while"), ("そう", "looking as if")]);
    made
}

/// The verbs made of a verb, each with the steps to it.
fn auxiliaries(verb: &Verb, before: &str) -> Vec<(Verb, String)> {
    let te = verb.te.as_str();
    let root = &te[..te.len() - 'て'.len_utf8()];
    let voiced = te.ends_with('で');
    let on_te = |auxiliary: Verb| prefixed(te, auxiliary);
    let on_root = |plain: &str, voiced_plain: &str| {
        prefixed(root, godan(if voiced { voiced_plain } else { plain }))
    };
    let mut made = vec![
        (progressive(ichidan("いる"), te), "progressive"),
        (progressive(ichidan("る"), te), "progressive"),
        (on_te(godan("おる")), "humble progressive"),
        (on_root("とる", "どる"), "humble progressive"),
        (on_te(aru("いらっしゃる")), "honorific progressive"),
        (on_te(godan("おく")), "in advance"),
        (on_root("とく", "どく"), "in advance"),
        (on_te(godan("しまう")), "completion"),
        (on_root("ちゃう", "じゃう"), "completion"),
        (on_root("ちまう", "じまう"), "completion"),
        (on_te(godan("まう")), "completion"),
        (on_te(Verb { te: "いって".into(), ..godan("いく") }), "going on"),
        (on_te(kuru("こ", "き", "く")), "coming"),
        (on_te(ichidan("みる")), "trying"),
        (on_te(godan("もらう")), "favour obtained (morau)"),
        (on_te(ichidan("あげる")), "favour done (ageru)"),
        (prefixed(&verb.stem, ichidan("すぎる")), "too much"),
        (prefixed(&verb.stem, godan("やがる")), "contemptuous"),
        (prefixed(&verb.stem, godan("になる")), "honorific (ni naru)"),
        (prefixed(&verb.stem, godan("いたす")), "humble (itasu)"),
        (prefixed(&verb.stem, ichidan("得る")), "possible (eru)"),
        (ichidan(&verb.causative), "causative"),
        (godan(&verb.short), "short causative"),
        (ichidan(&verb.passive.0), verb.passive.1),
    ];
    made.extend(verb.potential.iter().map(|(plain, step)| (ichidan(plain), *step)));
    let honorific = prefixed(&verb.stem, aru("なさる"));
    let honorific = Verb { imperatives: vec![], ..honorific };
    made.push((honorific, "honorific (nasaru)"));
    made.into_iter().map(|(verb, step)| (verb, format!("{before}{step}"))).collect()
}

/// 書いてよ and 書いてい are no commands to be writing; 書いてろ is.
fn progressive(auxiliary: Verb, te: &str) -> Verb {
    let imperatives = auxiliary.imperatives.into_iter().filter(|form| form.ends_with('ろ'));
    prefixed(te, Verb { imperatives: imperatives.collect(), ..auxiliary })
}

fn prefixed(before: &str, verb: Verb) -> Verb {
    let add = |text: String| format!("{before}{text}");
    Verb {
        plain: add(verb.plain),
        nai: add(verb.nai),
        zu: add(verb.zu),
        masu: add(verb.masu),
        stem: add(verb.stem),
        ba: add(verb.ba),
        contracted: add(verb.contracted),
        imperatives: verb.imperatives.into_iter().map(add).collect(),
        volitional: add(verb.volitional),
        te: add(verb.te),
        passive: (add(verb.passive.0), verb.passive.1),
        potential: verb.potential.map(|(plain, step)| (add(plain), step)),
        causative: add(verb.causative),
        short: add(verb.short),
    }
}

fn godan(word: &str) -> Verb {
    const CHART: [&str; 9] = [
        "わいうえお",
        "かきくけこ",
        "がぎぐげご",
        "さしすせそ",
        "たちつてと",
        "なにぬねの",
        "ばびぶべぼ",
        "まみむめも",
        "らりるれろ",
    ];
    let last = word.chars().last().unwrap();
    let stem = &word[..word.len() - last.len_utf8()];
    let row: Vec<char> = CHART.iter().find(|row| row.contains(last)).unwrap().chars().collect();
    let [a, i, e, o] = [0, 1, 3, 4].map(|column| format!("{stem}{}", row[column]));
    let te = match last {
        'く' => "いて",
        'ぐ' => "いで",
        'す' => "して",
        'つ' | 'う' | 'る' => "って",
        _ => "んで",
    };
    let contracted = if last == 'う' { format!("{stem}や") } else { format!("{i}ゃ") };
    Verb {
        plain: word.to_owned(),
        nai: a.clone(),
        zu: a.clone(),
        masu: i.clone(),
        stem: i,
        ba: e.clone(),
        contracted,
        imperatives: vec![e.clone()],
        volitional: o,
        te: format!("{stem}{te}"),
        passive: (format!("{a}れる"), "passive"),
        potential: Some((format!("{e}る"), "potential")),
        causative: format!("{a}せる"),
        short: format!("{a}す"),
    }
}

fn aru(word: &str) -> Verb {
    let stem = word.strip_suffix('る').unwrap();
    let i = format!("{stem}い");
    Verb { masu: i.clone(), imperatives: vec![i], ..godan(word) }
}

fn ichidan(word: &str) -> Verb {
    let stem = word.strip_suffix('る').unwrap();
    let with = |ending: &str| format!("{stem}{ending}");
    Verb {
        plain: word.to_owned(),
        nai: stem.to_owned(),
        zu: stem.to_owned(),
        masu: stem.to_owned(),
        stem: stem.to_owned(),
        ba: with("れ"),
        contracted: with("りゃ"),
        imperatives: vec![with("ろ"), with("よ"), with("い")],
        volitional: with("よ"),
        te: with("て"),
        passive: (with("られる"), "potential or passive"),
        potential: Some((with("れる"), "potential without ra")),
        causative: with("させる"),
        short: with("さす"),
    }
}

fn kuru(o: &str, i: &str, u: &str) -> Verb {
    Verb {
        plain: format!("{u}る"),
        nai: o.to_owned(),
        zu: o.to_owned(),
        masu: i.to_owned(),
        stem: i.to_owned(),
        ba: format!("{u}れ"),
        contracted: format!("{u}りゃ"),
        imperatives: vec![format!("{o}い")],
        volitional: format!("{o}よ"),
        te: format!("{i}て"),
        passive: (format!("{o}られる"), "potential or passive"),
        potential: Some((format!("{o}れる"), "potential without ra")),
        causative: format!("{o}させる"),
        short: format!("{o}さす"),
    }
}

fn suru(noun: &str) -> Verb {
    let with = |ending: &str| format!("{noun}{ending}");
    Verb {
        plain: with("する"),
        nai: with("し"),
        zu: with("せ"),
        masu: with("し"),
        stem: with("し"),
        ba: with("すれ"),
        contracted: with("すりゃ"),
        imperatives: vec![with("しろ"), with("せよ")],
        volitional: with("しよ"),
        te: with("して"),
        passive: (with("される"), "passive"),
        potential: None,
        causative: with("させる"),
        short: with("さす"),
    }
}

fn zuru(stem: &str) -> Verb {
    let with = |ending: &str| format!("{stem}{ending}");
    Verb {
        plain: with("ずる"),
        nai: with("じ"),
        zu: with("じ"),
        masu: with("じ"),
        stem: with("じ"),
        ba: with("ずれ"),
        contracted: with("ずりゃ"),
        imperatives: vec![with("じろ"), with("ぜよ")],
        volitional: with("じよ"),
        te: with("じて"),
        passive: (with("ぜられる"), "passive"),
        potential: Some((with("じれる"), "potential without ra")),
        causative: with("じさせる"),
        short: with("じさす"),
    }
}

/// 書いて → 書いた, 読んで → 読んだ.
fn ta(te: &str) -> String {
    contracted_te(te, "た", "だ")
}

fn contracted_te(te: &str, plain: &str, voiced: &str) -> String {
    match te.strip_suffix('て') {
        Some(root) => format!("{root}{plain}"),
        None => format!("{}{voiced}", te.strip_suffix('で').unwrap()),
    }
}

fn adjective(stem: &str, short: &str, seeming: &str, before: &str) -> Vec<(String, String)> {
    let mut made = Vec::new();
    let mut make = |base: &str, endings: &[(&str, &str)]| {
        let steps = |steps: &str| format!("{before}{steps}");
        made.extend(endings.iter().map(|(end, step)| (format!("{base}{end}"), steps(step))));
    };
    make(
        stem,
        &[
            ("く", "adverb"),
            ("くて", "te-form"),
            ("くない", "negative"),
            ("くなかった", "negative; past"),
            ("くなくて", "negative; te-form"),
            ("くなければ", "negative; provisional"),
            ("くなきゃ", "negative; contracted provisional"),
            ("くありません", "polite negative"),
            ("くありませんでした", "polite negative; past"),
            ("くへん", "Kansai negative (hen)"),
            ("くへんかった", "Kansai negative (hen); past"),
            ("かった", "past"),
            ("かったら", "conditional"),
            ("かったり", "listing"),
            ("かったです", "past; polite (desu)"),
            ("かっただろう", "past; conjecture"),
            ("かろう", "conjecture"),
            ("ければ", "provisional"),
            ("きゃ", "contracted provisional"),
            ("けりゃ", "contracted provisional"),
            ("き", "literary attributive"),
        ],
    );
    make(
        short,
        &[
            ("さ", "noun (sa)"),
            ("がる", "showing signs of (garu)"),
            ("がった", "showing signs of (garu); past"),
            ("すぎる", "too much"),
            ("過ぎた", "too much; past"),
            ("げ", "seeming (ge)"),
        ],
    );
    make(seeming, &[("そう", "looking as if")]);
    made
}
