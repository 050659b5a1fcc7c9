/** Common given and family names of several regions, as ordinary names. */

export type Region = {
  readonly name: string;
  /** ISO 3166-1 alpha-3. */
  readonly country: string;
  readonly given: readonly string[];
  readonly family: readonly string[];
  /** How many of each a name of the region usually has. */
  readonly givenCount: number;
  readonly familyCount: number;
};

const words = (text: string): string[] => text.split(' ');

export const regions: readonly Region[] = [
  {
    name: 'English',
    country: 'USA',
    given: words(
      'James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica Thomas Sarah Charles Karen Daniel Emily Andrew Grace Kevin Rachel',
    ),
    family: words(
      'Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Thomas Moore Jackson Martin Thompson White Harris Clark Lewis Robinson Walker Young King Wright Hill Green',
    ),
    givenCount: 1,
    familyCount: 1,
  },
  {
    name: 'Spanish',
    country: 'MEX',
    given: words(
      'José María Juan Guadalupe Luis Margarita Carlos Verónica Jesús Rosa Miguel Teresa Pedro Alejandra Jorge Leticia Francisco Gabriela Manuel Elena Ricardo Lucía Fernando Patricia Eduardo Sofía',
    ),
    family: words(
      'Hernández García Martínez López González Pérez Rodríguez Sánchez Ramírez Cruz Flores Gómez Morales Vázquez Jiménez Reyes Torres Díaz Gutiérrez Ruiz Mendoza Aguilar Ortiz Castillo Moreno Romero',
    ),
    givenCount: 1,
    familyCount: 2,
  },
  {
    name: 'Arabic',
    country: 'EGY',
    given: words(
      'Mohamed Ahmed Mahmoud Mustafa Fatma Ali Hassan Hussein Ibrahim Khaled Youssef Omar Amr Tarek Mona Aisha Samir Nadia Karim Layla Walid Hany Sami Rania Adel Yasser',
    ),
    family: words(
      'Hassan Ali Ibrahim Mahmoud Abdelrahman Mansour Salem Farouk Nasser Saleh Khalil Fathy Gaber Rashad Shawky Zaki Hegazy Sabry Naguib Eldin Shehata Ramadan Lotfy Soliman Amin Mourad',
    ),
    givenCount: 2,
    familyCount: 1,
  },
  {
    name: 'Russian',
    country: 'KAZ',
    given: words(
      'Александр Елена Сергей Ольга Владимир Наталья Андрей Татьяна Алексей Ирина Дмитрий Светлана Николай Анна Михаил Мария Игорь Юлия Евгений Людмила Виктор Галина Павел Оксана Юрий Марина',
    ),
    family: words(
      'Ивановский Смирнов Кузнецов Попов Васильев Петров Соколов Михайлов Новиков Фёдоров Морозов Волков Алексеев Лебедев Семёнов Егоров Павлов Козлов Степанов Николаев Орлов Андреев Макаров Никитин Захаров Зайцев',
    ),
    givenCount: 1,
    familyCount: 1,
  },
  {
    name: 'Indian',
    country: 'IND',
    given: words(
      'Rahul Priya Amit Anjali Sanjay Neha Rajesh Pooja Vikram Sunita Arjun Kavita Suresh Deepa Anil Meena Ramesh Lakshmi Manoj Rekha Vijay Asha Ashok Geeta Naveen Shalini',
    ),
    family: words(
      'Sharma Verma Gupta Singh Kumar Patel Reddy Nair Iyer Mehta Joshi Chatterjee Mukherjee Das Rao Pillai Desai Shah Mishra Pandey Agarwal Kapoor Malhotra Banerjee Naidu Kulkarni',
    ),
    givenCount: 1,
    familyCount: 1,
  },
  {
    name: 'Chinese',
    country: 'CHN',
    given: words(
      'Wei Fang Xiuying Na Min Jing Li Qiang Lei Jun Yang Yong Yan Jie Juan Tao Ming Chao Xiulan Xia Ping Gang Guiying Hui Xin Jianguo',
    ),
    family: words(
      'Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Lin Gao Luo Zheng Liang Xie Song Tang Deng',
    ),
    givenCount: 1,
    familyCount: 1,
  },
  {
    name: 'French and West African',
    country: 'SEN',
    given: words(
      'Jean Aminata Pierre Fatou Moussa Mariama Ousmane Awa Ibrahima Aïssatou Mamadou Khady Cheikh Bineta Abdoulaye Ndèye Modou Coumba Pape Sokhna Amadou Astou Souleymane Rokhaya Alioune Mame',
    ),
    family: words(
      'Diop Ndiaye Fall Diallo Sow Ba Sy Gueye Sarr Faye Seck Diouf Cissé Touré Traoré Keita Camara Dubois Moreau Laurent Lefebvre Konaté Coulibaly Sylla Mbaye Thiam',
    ),
    givenCount: 1,
    familyCount: 1,
  },
  {
    name: 'Filipino',
    country: 'PHL',
    given: words(
      'Jose Maria Mark Angel John Princess Christian Nicole Michael Angelica Joshua Jasmine James Kimberly Justin Mariel Paolo Bea Carlo Lovely Ramon Cherry Rodel Maricel Arnel Jocelyn',
    ),
    family: words(
      'Santos Reyes Cruz Bautista Ocampo Garcia Mendoza Torres Tomas Andrada Castillo Flores Villanueva Ramos Castro Rivera Aquino Navarro Salazar Mercado Dizon Pascual Soriano Tolentino Manalo Dimaculangan',
    ),
    givenCount: 1,
    familyCount: 1,
  },
  {
    name: 'Turkish',
    country: 'TUR',
    given: words(
      'Mehmet Fatma Mustafa Ayşe Ahmet Emine Ali Hatice Hüseyin Zeynep Hasan Elif İbrahim Meryem Murat Özlem Osman Sultan Yusuf Yasemin Ömer Hülya Emre Derya Burak Selin',
    ),
    family: words(
      'Yılmaz Kaya Demir Çelik Şahin Yıldız Yıldırım Öztürk Aydın Özdemir Arslan Doğan Kılıç Aslan Çetin Kara Koç Kurt Özkan Şimşek Polat Korkmaz Erdoğan Güneş Aksoy Bulut',
    ),
    givenCount: 1,
    familyCount: 1,
  },
  {
    name: 'Pakistani',
    country: 'PAK',
    given: words(
      'Muhammad Ayesha Usman Fatima Bilal Sana Imran Maryam Hamza Zainab Adnan Hina Faisal Sadia Kashif Nadia Shahid Rabia Tariq Saima Asif Uzma Naveed Farah Zeeshan Amna',
    ),
    family: words(
      'Khan Ahmed Malik Hussain Iqbal Butt Chaudhry Akhtar Siddiqui Qureshi Raza Shah Mirza Aslam Bhatti Javed Rehman Sheikh Mahmood Anwar Nawaz Abbasi Awan Farooq Hashmi Ansari',
    ),
    givenCount: 2,
    familyCount: 1,
  },
];
